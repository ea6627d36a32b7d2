"""What goes wrong, as exceptions. Each has the text that the command line would print, which says where, what and what is legal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from . import _abi
    from .explore import Exploration
    from .report import Report


class Error(Exception):
    """Why a call has no result.

    `text` says it in a line or more; `rendered` is all that there is to say, for a terminal; `messages` are about places in a
    PTX or MLIR text. str() is `rendered`. False as a condition, so that what `raises=False` returns can be asked.
    """

    kind: str = "invalid argument"

    def __init__(self, text: str, messages: tuple[_abi.Message, ...] = (), rendered: str = "", operand: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.messages = messages
        self.rendered = (rendered or text).rstrip("\n")
        self.operand = operand

    def __str__(self) -> str:
        return self.rendered

    def __bool__(self) -> bool:
        return False


class InvalidArgument(Error, ValueError):
    """The call is wrong: no such kernel, an argument of the wrong kind or size."""

    kind = "invalid argument"


class Rejected(Error):
    """The text is not legal; `messages` say where, what is legal, and what would mend it."""

    kind = "rejected"


class Unsupported(Error, NotImplementedError):
    """Legal, but this device does not do it."""

    kind = "unsupported"


class Unavailable(Error):
    """No such device, no driver, or it refused; or the library was built without MLIR."""

    kind = "unavailable"


class OutOfMemory(Error, MemoryError):
    """The device's memory, or what it may take of the host's, is used up."""

    kind = "out of memory"


class DeviceLost(Error):
    """A fault of an earlier launch took the device with it. cuda only."""

    kind = "device lost"


class InternalError(Error):
    """A bug of Lemma."""

    kind = "internal"


class KernelFailed(Error):
    """Of a stream: a kernel of its has faulted; the text is its report's. `report` has all of it; None: another call has it."""

    kind = "kernel failed"
    report: Optional[Report] = None


BY_KIND: dict[str, type[Error]] = {
    each.kind: each
    for each in (InvalidArgument, Rejected, Unsupported, Unavailable, OutOfMemory, DeviceLost, InternalError, KernelFailed)
}


class LaunchError(Error):
    """A launch ran, and its report is not good. `report` has all of it."""

    def __init__(self, text: str, report: Report, rendered: str) -> None:
        super().__init__(text, rendered=rendered)
        self.report = report


class Fault(LaunchError):
    """The kernel did what it must not do, or reached what is not modelled.

    `fault` is the record: kind, message, notes, place (PTX line, source file and line), cta, warp, lane, address. The fields
    that are asked for most are attributes of the exception too. Arrays of the host are as they were.
    """

    def __init__(self, report: Report) -> None:
        fault = report.fault
        super().__init__(fault.message if fault else report.outcome, report, report.rendered)
        self.fault = fault

    @property
    def kind(self) -> str:  # type: ignore[override]
        """ "out of bounds", "deadlock", ...; "stopped" if somebody asked for it."""
        return self.fault.kind if self.fault else self.report.outcome

    @property
    def line(self) -> int:
        """In the PTX; 0: unknown."""
        return self.fault.place.ptx_line if self.fault and self.fault.place else 0

    @property
    def cta(self) -> Optional[tuple[int, ...]]:
        return self.fault.cta if self.fault and self.fault.has_thread else None

    @property
    def warp(self) -> Optional[int]:
        return self.fault.warp if self.fault and self.fault.has_thread else None

    @property
    def lane(self) -> Optional[int]:
        return self.fault.lane if self.fault and self.fault.has_thread else None

    @property
    def address(self) -> Optional[int]:
        return self.fault.address if self.fault else None


class Findings(LaunchError):
    """The launch ran to its end and did what the PTX ISA leaves undefined: a race, a missing fence or wait (`check=True`).

    `findings` are those that are neither notes nor suppressed. Arrays of the host have what the kernel wrote.
    """

    kind = "findings"

    def __init__(self, report: Report) -> None:
        self.findings = report.errors
        first = self.findings[0]
        super().__init__(f"{first.id}: {first.message}", report, report.text)


class Differs(LaunchError):
    """In some legal schedule (`explore=N`) the kernel faults, or writes something else than in the usual one.

    `exploration` says which, and where the first byte differs.
    """

    kind = "differs"

    def __init__(self, exploration: Exploration, report: Report) -> None:
        self.exploration = exploration
        super().__init__(exploration.summary.split("\n")[0], report, exploration.summary)


def text_of(error: Any) -> str:
    """What an exception of Lemma says, "" for another."""
    return str(error) if isinstance(error, Error) else ""

"""What a launch has to say: the C API's records, and what Python users ask of them."""

from __future__ import annotations

from typing import Any

from . import _abi
from ._abi import (  # noqa: F401
    Access, ExecutedForm, ExploredSchedule, Fault, Finding, Message, OutputDifference, Place, Stats, UninitializedRead, Waiting,
)  # fmt: skip


class Report(_abi.Report):
    """How a launch went. str() is what the command line would print; empty if there is nothing to say."""

    @property
    def ok(self) -> bool:
        """It ran to its end, and no finding is left."""
        return self.outcome == "finished" and not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are neither notes nor suppressed."""
        return tuple(f for f in self.findings if not f.is_note and not f.suppressed)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<lemma.Report {self.outcome}, {len(self.errors)} findings, bits of {self.arithmetic}>"

    def _repr_html_(self) -> str:
        from ._html import preformatted

        return preformatted(str(self) or repr(self)[1:-1])


def report_of(s: Any) -> Report:
    """Of a lemma_report."""
    return Report(**vars(_abi._lemma_report(s)))

"""Launches: options, arguments, callbacks, Ctrl-C, and what becomes of the report."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import os
import pathlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence

from . import _abi, errors
from ._library import check, encoded, library, near, sized
from .arguments import Encoder, arrays_in, borrow
from .memory import Array, Borrowed
from .report import Finding, Report, report_of, with_findings

if TYPE_CHECKING:
    from .device import Device, Kernel

NAMES = (
    "smem cluster cooperative check explore suppress async_ elect engine on_fault deterministic seed schedule workers max_instructions check_ctas"
    " count_accesses fidelity print progress raises programmatic"
).split()
_ASYNC = {"eager": _abi.LEMMA_ASYNC_EAGER, "late": _abi.LEMMA_ASYNC_LATE, "random": _abi.LEMMA_ASYNC_RANDOM}
_ENGINES = {
    None: _abi.LEMMA_ENGINE_DEFAULT, "auto": _abi.LEMMA_ENGINE_AUTO, "interpreter": _abi.LEMMA_ENGINE_INTERPRETER,
    "compiled": _abi.LEMMA_ENGINE_COMPILED,
}  # fmt: skip
_ON_FAULT = {"stop": _abi.LEMMA_ON_FAULT_STOP, "warn": _abi.LEMMA_ON_FAULT_WARN}


class Options(dict):
    """Options of launches, by name. Error: InvalidArgument for a name that there is not."""

    def __init__(self, given: Any = ()) -> None:
        super().__init__(given)
        for name in self:
            if name not in NAMES:
                raise errors.InvalidArgument(
                    f"no launch has the option {name!r}{near(str(name), NAMES)}; there are {', '.join(NAMES)}"
                )

    def __or__(self, other: Any) -> Options:
        return Options({**self, **other})


_defaults: contextvars.ContextVar[Options] = contextvars.ContextVar("lemma_defaults", default=Options())
_reports: contextvars.ContextVar[Optional[list]] = contextvars.ContextVar("lemma_reports", default=None)


@contextlib.contextmanager
def defaults(**options: Any) -> Iterator[None]:
    """With it, launches have these options unless they or their Device say otherwise: with lemma.defaults(check=True): ..."""
    token = _defaults.set(_defaults.get() | Options(options))
    try:
        yield
    finally:
        _defaults.reset(token)


@contextlib.contextmanager
def reports() -> Iterator[list[Report]]:
    """A list to which all launches within add their reports: with lemma.reports() as seen: ..."""
    outer = _reports.get()
    seen: list[Report] = []
    token = _reports.set(seen)
    try:
        yield seen
    finally:
        _reports.reset(token)
        if outer is not None:
            outer += seen


def triple(what: str, value: Any) -> tuple[int, int, int]:
    """Up to three numbers as three. Error: InvalidArgument."""
    given = tuple(value) if isinstance(value, (tuple, list)) or hasattr(value, "__len__") else (value,)
    try:
        numbers = [int(v) for v in given]
    except (TypeError, ValueError):
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(n < 1 or n >= 1 << 32 for n in numbers) or numbers != list(given):
        raise errors.InvalidArgument(f"{what} is {value!r}; one to three positive numbers are wanted")
    return (*numbers, 1, 1)[:3]  # type: ignore[return-value]


def configuration(grid: Any, block: Any, options: Options) -> Any:
    mode = options.get("async_", "eager")
    if mode not in _ASYNC:
        raise errors.InvalidArgument(f"async_ is {mode!r}; there are {', '.join(_ASYNC)}")
    if options.get("explore") is not None and not 0 <= options["explore"] < 1 << 64:
        raise errors.InvalidArgument(f"explore is {options['explore']!r}: a number of schedules is wanted")
    made = sized(
        _abi.lemma_launch_config,
        shared_bytes=options.get("smem"),
        **{n: options.get(n) for n in ("cooperative", "programmatic", "deterministic", "check", "count_accesses", "fidelity", "workers", "seed",
                                       "max_instructions", "schedule", "check_ctas")},
    )  # fmt: skip
    setattr(made, "async", _ASYNC[mode])
    elect = options.get("elect", "lowest")
    if elect not in ("lowest", "any"):
        raise errors.InvalidArgument(f"elect is {elect!r}; there are lowest, any")
    made.elect_any = elect == "any"
    engine = options.get("engine")
    if engine not in _ENGINES:
        raise errors.InvalidArgument(f"engine is {engine!r}; there are {', '.join(filter(None, _ENGINES))}")
    made.engine = _ENGINES[engine]
    on_fault = options.get("on_fault", "stop")
    if on_fault not in _ON_FAULT:
        raise errors.InvalidArgument(f"on_fault is {on_fault!r}; there are {', '.join(_ON_FAULT)}")
    made.on_fault = _ON_FAULT[on_fault]
    made.grid[:] = triple("grid", grid)
    made.block[:] = triple("block", block)
    if options.get("cluster"):
        made.cluster[:] = triple("cluster", options["cluster"])
    return made


class Callbacks:
    """Functions of Python in structs of the library's, and the first exception of theirs, which raise_() raises."""

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self._kept: list[Any] = []

    def set(self, struct: Any, field: str, function: Callable[..., Any]) -> None:
        """Puts a function, which gets all arguments but `user`, into a field."""
        self._kept.append(dict(struct._fields_)[field](self._guarded(function)))
        setattr(struct, field, self._kept[-1])

    def set_print(self, struct: Any, options: Options) -> None:
        write: Callable[[str], Any] = options.get("print") or sys.stdout.write

        def on_print(text: Any, size: int) -> None:
            write(ctypes.string_at(text, size).decode("utf-8", "replace"))

        # c_char_p would end the text at a NUL.
        type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        self._kept.append(type(self._guarded(on_print)))
        struct.print = ctypes.cast(self._kept[-1], dict(struct._fields_)["print"])

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., None]:
        def call(_: Any, *arguments: Any) -> None:
            try:
                function(*arguments)
            except BaseException as error:
                self.raised = self.raised or error

        return call

    def raise_(self) -> None:
        if self.raised:
            raise self.raised


def run_in_thread(call: Callable[[], Any], stop: Any) -> Any:
    """Runs a function of the library so that Ctrl-C ends it: in the main thread by way of another one.

    Events tell what that one does: Thread.join() of Python 3.11 and before takes a thread for ended where a signal comes while it waits.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    result: list[Any] = []
    begin, done, cancelled = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        begin.wait()
        try:
            if not cancelled.is_set():
                result.append(call())
        finally:
            done.set()

    thread = threading.Thread(target=run, name="lemma launch", daemon=True)
    try:
        thread.start()
        begin.set()
        while not done.wait(0.2):  # a signal that another thread gets does not wake this one
            pass
    except BaseException:
        if begin.is_set():
            library.lemma_stop_request(stop)
            while not done.is_set():  # the library uses what is the caller's; Ctrl-C again changes nothing
                with contextlib.suppress(KeyboardInterrupt):
                    done.wait()
        else:
            cancelled.set()
            begin.set()
        raise
    return result[0]


def encoded_bytes(values: Sequence[bytes]) -> Any:
    """An array of lemma_bytes."""
    made = (_abi.lemma_bytes * len(values))()
    made._keep = [ctypes.create_string_buffer(data, max(len(data), 1)) for data in values]
    for each, buffer, data in zip(made, made._keep, values):
        each.data, each.size = ctypes.cast(buffer, ctypes.c_void_p), len(data)
    return made


def launch_handle(kernel: Kernel, config: Any, encoded_arguments: Sequence[bytes], options: Options, stop: Any = None) -> Any:
    """Runs a kernel with encoded arguments; returns the library's report, to be released. Raises what kept it from running."""
    own = None if stop else library.lemma_stop_create()
    stop = stop or own
    try:
        config.stop = stop
        callbacks = Callbacks()
        callbacks.set_print(config, options)
        if options.get("progress"):
            callbacks.set(config, "progress", options["progress"])
        arguments = encoded_bytes(encoded_arguments)
        report = ctypes.POINTER(_abi.lemma_report)()
        error = run_in_thread(
            lambda: library.lemma_launch(
                kernel.module._handle, kernel.name.encode(), ctypes.byref(config), arguments, len(arguments), ctypes.byref(report)
            ),
            stop,
        )
        check(error)
        if callbacks.raised:
            library.lemma_report_release(report)
            callbacks.raise_()
        return report
    finally:
        library.lemma_stop_release(own)


def suppressed(path: Any, add: Callable[[Any], Any]) -> tuple[tuple[Finding, ...], str]:
    """(findings that a file of suppressions has gone over, those that are left for a terminal). add(handle) puts them there."""
    text = pathlib.Path(path).read_bytes()
    list_of, findings = ctypes.POINTER(_abi.lemma_suppressions)(), ctypes.POINTER(_abi.lemma_findings)()
    info = ctypes.POINTER(_abi.lemma_findings_info)()
    check(library.lemma_suppressions_parse(text, len(text), encoded(os.fspath(path)), ctypes.byref(list_of)))
    try:
        check(library.lemma_findings_create(ctypes.byref(findings)))
        check(add(findings))
        check(library.lemma_findings_suppress(findings, list_of))
        check(library.lemma_findings_describe(findings, ctypes.byref(info)))
        left = _abi._lemma_findings_info(info[0])
        return left.findings, left.text
    finally:
        library.lemma_findings_release(findings)
        library.lemma_suppressions_release(list_of)


def report_for(handle: Any, options: Options) -> Report:
    """Of a report of the library's, which stays that."""
    report = report_of(handle[0])
    if not options.get("suppress"):
        return report
    return with_findings(report, *suppressed(options["suppress"], lambda to: library.lemma_findings_add(to, handle)))


def expanded(kernel: Kernel, arguments: Sequence[Any], encoder: Encoder) -> list[bytes]:
    """The bytes of each parameter. Error: InvalidArgument if arguments are too few, too many, or wrong."""
    if kernel._mlir is not None:
        return kernel._mlir.encode(kernel, arguments, encoder)
    if len(arguments) != len(kernel.parameters):
        listed = "\n".join(f"  {i}: {p.type} {p.label}" for i, p in enumerate(kernel.parameters))
        raise errors.InvalidArgument(
            f"kernel {kernel.name} has {len(kernel.parameters)} parameters, {len(arguments)} arguments given\n{listed}"
        )
    return [
        encoder.parameter(value, parameter, f"argument {i} ({parameter.label})")
        for i, (value, parameter) in enumerate(zip(arguments, kernel.parameters))
    ]


def finish(report: Report, options: Options) -> Report:
    """Notes a report, and raises what it says unless that is not wanted."""
    note(report)
    return raise_for(report, options)


def note(report: Report) -> None:
    seen = seen_reports()
    if seen is not None:
        seen.append(report)


def seen_reports() -> Optional[list]:
    """Where reports() collects them; None: nowhere."""
    return _reports.get()


def raise_for(report: Report, options: Options) -> Report:
    if options.get("raises", True):
        if report.outcome != "finished":
            raise errors.Fault(report)
        if report.errors:
            raise errors.Findings(report)
    return report


def launch_once(kernel: Kernel, config: Any, data: Sequence[bytes], borrowed: Borrowed, options: Options) -> Report:
    """Runs a kernel, and copies out what it wrote if it came to its end."""
    handle = launch_handle(kernel, config, data, options)
    try:
        report = report_for(handle, options)
    finally:
        library.lemma_report_release(handle)
    if report.outcome == "finished":
        borrowed.copy_out()
    return finish(report, options)


def run_kernel(
    kernel: Kernel, config: Any, data: Sequence[bytes], borrowed: Borrowed, arrays: Sequence[Array], options: Options
) -> Report:
    """Runs a kernel with encoded arguments, in as many schedules as options say. `arrays`: of the device, which it may write."""
    if options.get("explore", 1) > 1:
        from .explore import explore

        return explore(kernel, config, data, borrowed, arrays, options)
    return launch_once(kernel, config, data, borrowed, options)


def with_defaults(options: Options) -> Options:
    return _defaults.get() | options


def launch(kernel: Kernel, grid: Any, block: Any, options: Options, arguments: Sequence[Any]) -> Report:
    """One launch, as Kernel describes it."""
    options = with_defaults(options)
    device: Device = kernel.module.device
    if device._handle is None:
        raise errors.InvalidArgument("the device is closed")
    config = configuration(grid, block, options)
    borrowed = Borrowed(device)
    try:
        given = [borrow(value, borrowed, f"argument {i}") for i, value in enumerate(arguments)]
        borrowed.copy_in()
        encoder = Encoder(borrowed)
        data = expanded(kernel, given, encoder)
        return run_kernel(kernel, config, data, borrowed, [a for value in given for a in arrays_in(value)], options)
    finally:
        borrowed.free()

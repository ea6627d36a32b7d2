"""One launch in many legal schedules: kernel[grid, block](..., explore=8)."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import TYPE_CHECKING, Any, Sequence

from . import _abi, errors
from ._library import check, library, sized, take
from .launch import Options, finish, launch_handle, run_in_thread, suppressed
from .memory import Array, Borrowed
from .report import Report, report_of, with_findings

if TYPE_CHECKING:
    from .device import Kernel


class Exploration(_abi.Exploration):
    """How each schedule went: `schedules`, the `findings` of all, `first_unlike`, `float_atomics`."""

    @property
    def differing(self) -> tuple[_abi.ExploredSchedule, ...]:
        """Schedules with other outputs than the usual one's, unless floating-point atomics explain them."""
        return () if self.float_atomics else tuple(s for s in self.schedules if s.difference is not None)

    @property
    def faulting(self) -> tuple[_abi.ExploredSchedule, ...]:
        return tuple(s for s in self.schedules if s.fault is not None)

    @property
    def summary(self) -> str:
        """What is wrong, for a terminal; empty if nothing is."""
        lines = []
        for each in self.faulting:
            assert each.fault
            lines.append(
                f"schedule {each.schedule} ({schedule_text(each.schedule)}): fault[{each.fault.kind}]: {each.fault.message}"
            )
        for each in self.differing:
            d = each.difference
            assert d
            lines.append(
                f"schedule {each.schedule} ({schedule_text(each.schedule)}): output {d.output} differs in {d.bytes} bytes, the first at {d.offset}"
            )
        return "\n".join(lines + ([self.text] if self.text else []))


def _exploration_of(s: Any, handle: Any, options: Options) -> Exploration:
    made = Exploration(**vars(_abi._lemma_exploration(s)))
    if not options.get("suppress"):
        return made
    findings, text = suppressed(options["suppress"], lambda to: library.lemma_findings_add_explored(to, handle))
    return dataclasses.replace(made, findings=findings, text=text)


def schedule_text(schedule: int) -> str:
    """What is unusual about a schedule: "the last warps first, asynchronous operations late"."""
    return take(library.lemma_schedule_text(schedule), lambda s: s.text.decode(), library.lemma_text_release)


def explore(
    kernel: Kernel, config: Any, data: Sequence[bytes], borrowed: Borrowed, arrays: Sequence[Array], options: Options
) -> Report:
    """Runs the launch in options["explore"] schedules, one after the other, each with the memory as it was: what was borrowed,
    `arrays` and module variables. Afterwards memory is what the usual schedule made of it, whose report is returned.
    """
    arrays = list({id(a): a for a in arrays}.values())
    before = [a.numpy().copy() for a in arrays]
    variables = [(v, v.get(dtype="u1").copy()) for v in kernel.module.variables.values()]
    made: list[Report] = []
    raised: list[BaseException] = []

    def restore() -> None:
        borrowed.copy_in()
        for array, values in zip(arrays, before):
            array.copy_from(values)
        for variable, values in variables:
            variable.set(values.tobytes())

    def one(schedule: int, run: Any) -> None:
        restore()
        config.schedule = schedule
        quiet = options if schedule == 0 else options | {"print": lambda _: None}
        handle = launch_handle(kernel, config, data, quiet, stop)
        try:
            check(library.lemma_schedule_run_set_report(run, handle, None))
            outputs = borrowed.outputs() + [a.numpy() for a in arrays]
            for output in outputs:
                check(library.lemma_schedule_run_add_output(run, output.ctypes.data, output.nbytes))
            if schedule == 0:
                made.append(report_of(handle[0]))
        finally:
            library.lemma_report_release(handle)

    types: dict[str, Any] = dict(_abi.lemma_explore_options._fields_)  # type: ignore[arg-type]

    def on_run(_: Any, schedule: int, share: int, run: Any) -> Any:
        try:
            one(schedule, run)
            return None
        except BaseException as error:
            raised.append(error)
            return ctypes.cast(library.lemma_error_create(_abi.LEMMA_ERROR_INVALID_ARGUMENT, b"stopped"), ctypes.c_void_p).value

    # ctypes has no callbacks that return pointers to structs.
    run_type = ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(_abi.lemma_schedule_run)
    )
    callback = run_type(on_run)
    explored = sized(_abi.lemma_explore_options, kernel=kernel.name.encode(), schedules=options["explore"], workers=1)
    stop = library.lemma_stop_create()
    explored.run = ctypes.cast(callback, types["run"])
    result = ctypes.POINTER(_abi.lemma_exploration)()
    explored.stop = stop
    try:
        error = run_in_thread(lambda: library.lemma_explore(ctypes.byref(explored), ctypes.byref(result)), stop)
        if raised:
            if error:
                library.lemma_error_release(error)
            raise raised[0]
        check(error)
    finally:
        library.lemma_stop_release(stop)
    exploration: Exploration = take(
        result, lambda s: _exploration_of(s, result, options), library.lemma_exploration_release
    )
    # The memory of the usual schedule again: it is run once more, which is simpler than remembering all of it.
    report = made[0]
    if report.outcome == "finished":
        restore()
        config.schedule = 0
        library.lemma_report_release(launch_handle(kernel, config, data, options | {"print": lambda _: None}))
        borrowed.copy_out()
    report = finish(with_findings(report, exploration.findings, exploration.text), options)
    if options.get("raises", True) and (exploration.faulting or exploration.differing):
        raise errors.Differs(exploration, report)
    return report

"""What a launch has to say: the C API's records, and what Python users ask of them."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Iterable, Union

from . import _abi
from ._library import check, library, take
from ._abi import (  # noqa: F401
    Access, ExecutedForm, ExploredSchedule, Fault, Finding, Message, OutputDifference, Place, SourceFrame, Stats, UninitializedRead,
    Waiting,
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

    @property
    def fidelity(self) -> str:
        """How well the bits of what ran are known (fidelity=True), for people; empty if it was not asked for."""
        return fidelity_text(self)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<lemma.Report {self.outcome}, {len(self.errors)} findings, bits of {self.arithmetic}>"

    def _repr_html_(self) -> str:
        from ._html import preformatted

        return preformatted(str(self) or repr(self)[1:-1])


def with_findings(report: Report, findings: tuple[Finding, ...], text: str) -> Report:
    """The same report with other findings; `text`: of them, for a terminal."""
    return dataclasses.replace(report, findings=findings, text=report.rendered + text)


def report_of(s: Any) -> Report:
    """Of a lemma_report."""
    return Report(**vars(_abi._lemma_report(s)))


def merged_forms(reports: Iterable[Report], most: int = 0) -> _abi.MergedForms:
    """The instructions of several launches with fidelity=True put together, the least known first: `forms`, and `text`."""
    reports = list(reports)
    forms = [form for report in reports for form in report.forms]
    codes = {name: code for code, name in _abi._lemma_fidelity.items()}
    records = [
        _abi.lemma_executed_form(
            f.form.encode(), codes[f.fidelity], f.evidence.encode(), f.warp_instructions, f.lane_instructions
        )
        for f in forms
    ]  # fmt: skip
    pointers = (ctypes.POINTER(_abi.lemma_executed_form) * len(records))(*map(ctypes.pointer, records))
    made = ctypes.POINTER(_abi.lemma_merged_forms)()
    machine = reports[0].arithmetic.encode() if reports else None
    check(library.lemma_merge_forms(pointers, len(records), machine, most, ctypes.byref(made)))
    return take(made, _abi._lemma_merged_forms, library.lemma_merged_forms_release)


def fidelity_text(reports: Union[Report, Iterable[Report]], most: int = 8) -> str:
    """How well the bits of what ran are known, of one launch or of several with fidelity=True, for people: the least known first,
    at most so many of each kind. Empty if no report has it."""
    return merged_forms([reports] if isinstance(reports, Report) else reports, most).text

"""The instructions that Lemma knows, as tables."""

from __future__ import annotations

import ctypes
from typing import Any, Iterator, Sequence

from . import _abi, _html
from ._library import check, library, take, words


class Table(Sequence[Any]):
    """Records, as a sequence that prints as a table and is one in a notebook. `columns` are shown; rows() has their values."""

    def __init__(self, records: Sequence[Any], columns: dict[str, Any]) -> None:
        self.records = tuple(records)
        self._columns = columns
        self.columns = tuple(columns)

    def __getitem__(self, index: Any) -> Any:
        return Table(self.records[index], self._columns) if isinstance(index, slice) else self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def rows(self) -> Iterator[tuple[str, ...]]:
        for record in self.records:
            yield tuple(str(value(record)) for value in self._columns.values())

    def __str__(self) -> str:
        rows = [self.columns, *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.columns))]
        return "\n".join("  ".join(v.ljust(w) for v, w in zip(row, widths)).rstrip() for row in rows)

    def __repr__(self) -> str:
        return f"<lemma.Table of {len(self)}>"

    def _repr_html_(self) -> str:
        return _html.table(self.columns, self.rows())


def _checked(record: Any) -> str:
    return f"{record.checked.gpu}, {record.checked.cases} cases" if record.checked and record.checked.gpu else ""


def _since(record: Any) -> str:
    return f"{record.availability.since_major}.{record.availability.since_minor}"


_MATRIX = {
    "instruction": lambda r: r.pattern, "targets": lambda r: r.availability.targets_text, "PTX": _since, "checked on": _checked,
}  # fmt: skip
_FORMS = {
    "instruction": lambda r: r.syntax, "where": lambda r: r.where, "targets": lambda r: r.availability.targets_text, "PTX": _since,
    "checked on": _checked,
}  # fmt: skip


def _listed(function: Any, type: Any, convert: Any, release: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    made = ctypes.POINTER(type)()
    check(function(*words(names), ctypes.byref(made)))
    return take(made, convert, release).items


_NVGPU = {
    "operation": lambda r: r.operation, "types": lambda r: r.types, "shape": lambda r: r.shape, "instruction": lambda r: r.instruction,
    "targets": lambda r: r.targets, "forms": lambda r: r.forms, "lower": lambda r: r.lower, "run": lambda r: r.run,
    "equal": lambda r: r.equal,
}  # fmt: skip


def isa(*names: str, all: bool = False, nvgpu: bool = False) -> Table:
    """The matrix instructions that all words fit, as a Table; all=True: the forms of all other instructions; nvgpu=True: the operations
    of the nvgpu dialect, and how many of their forms lower, run, and have the bits of PTX written by hand.

    A word is the start of a spelling, a part of one, a shell pattern of a whole one, or a target ("sm_90a"). Of each record:
    `pattern`, `spellings`, m, n, k, types, `availability` and `checked`: which recorded hardware has confirmed it.
    Error: InvalidArgument, for a target that there is not.
    """
    if nvgpu:
        found = _listed(
            library.lemma_list_nvgpu_support, _abi.lemma_nvgpu_supports, _abi._lemma_nvgpu_supports,
            library.lemma_nvgpu_supports_release, names,
        )  # fmt: skip
        return Table(found, _NVGPU)
    if all:
        found = _listed(
            library.lemma_list_instruction_forms, _abi.lemma_instruction_forms, _abi._lemma_instruction_forms,
            library.lemma_instruction_forms_release, names,
        )  # fmt: skip
        return Table(found, _FORMS)
    found = _listed(
        library.lemma_list_matrix_instructions, _abi.lemma_matrix_instructions, _abi._lemma_matrix_instructions,
        library.lemma_matrix_instructions_release, names,
    )  # fmt: skip
    return Table(found, _MATRIX)


def targets() -> tuple[str, ...]:
    """All targets, oldest first: "sm_90", "sm_90a", ..."""
    return _abi._strings(library.lemma_targets()[0])

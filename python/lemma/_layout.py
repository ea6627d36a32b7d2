"""Who holds what: the matrices of an instruction in registers or tensor memory, a tile in shared memory, which draw themselves in a
notebook; descriptors field by field."""

from __future__ import annotations

import ctypes
import subprocess
from typing import Any, Optional

import numpy as np

from . import _abi
from ._library import check, encoded, library, sized, take
from .tensor_map import _SWIZZLES, _choice


def _picture(*arguments: str) -> str:
    from .__main__ import binary

    return subprocess.run([binary(), "layout", *arguments], capture_output=True, text=True, check=True).stdout


class Layout:
    """A matrix instruction explained: `spelling`, `summary`, `flops`, `arithmetic` (each machine's rule), and `operands` by name.

    layout["a"] is the record of an operand: type, rows, cols, registers, lanes, row_formula, ...; its `elements` are a structured
    array (row, col, lane, reg, elem) of every place. layout.map("a") is who holds element (row, col).
    """

    def __init__(self, description: _abi.MatrixDescription) -> None:
        self.description = description
        self.spelling = description.spelling
        self.summary = description.summary
        self.flops = description.flops
        self.arithmetic = description.arithmetic
        self.operands: dict[str, _abi.MatrixOperand] = {o.name: o for o in description.operands}

    def __getitem__(self, operand: str) -> _abi.MatrixOperand:
        return self.operands[operand]

    def map(self, operand: str) -> np.ndarray:
        """rows x cols of (lane, reg, elem): the first place of each element. Error: KeyError."""
        each = self.operands[operand]
        made = np.full((each.rows, each.cols), -1, [("lane", "i4"), ("reg", "i4"), ("elem", "i4")])
        for e in each.elements[::-1]:
            made[e["row"], e["col"]] = (e["lane"], e["reg"], e["elem"])
        return made

    def svg(self, operand: str) -> str:
        """A picture of an operand, as SVG."""
        return _picture(self.spelling, "--operand", operand, "--format", "svg")

    def _repr_html_(self) -> str:
        return _picture(self.spelling, "--format", "html")

    def __str__(self) -> str:
        return _picture(self.spelling, "--color", "never")

    def __repr__(self) -> str:
        shapes = ", ".join(f"{o.name} {o.rows}x{o.cols} {o.type}" for o in self.operands.values())
        return f"<lemma.Layout {self.spelling}: {shapes}>"


def layout(name: str) -> Layout:
    """Who holds which element of a matrix instruction: a full spelling, or enough of its start; or one of tcgen05.ld, st and cp.

    In tensor memory (`in_tensor_memory` of an operand) lane is one of its lanes and reg a column from the operand's address.
    Error: InvalidArgument, which says which there are, or which are near.
    """
    made = ctypes.POINTER(_abi.lemma_matrix_description)()
    check(library.lemma_describe_matrix(name.encode(), ctypes.byref(made)))
    return Layout(take(made, _abi._lemma_matrix_description, library.lemma_matrix_description_release))


class TileLayout:
    """A tile in shared memory: `record` has the addresses by line and chunk, bank conflicts, and the matrix descriptors of
    wgmma and of tcgen05."""

    def __init__(self, record: _abi.SmemLayout, arguments: list[str]) -> None:
        self.record = record
        self._arguments = arguments
        #: lines x chunks of 16 bytes: bytes from the tile's start, after the swizzle.
        self.addresses = np.array(record.addresses, np.uint32).reshape(record.lines, record.chunks)
        self.conflicts = record.conflicts
        self.descriptors = record.descriptors
        self.tensor_descriptors = record.tensor_descriptors

    def svg(self) -> str:
        return _picture("smem", *self._arguments, "--format", "svg")

    def _repr_html_(self) -> str:
        return _picture("smem", *self._arguments, "--format", "html")

    def __str__(self) -> str:
        return _picture("smem", *self._arguments, "--color", "never")


def tile(
    type: str = "bf16", *, rows: int = 64, cols: int = 64, swizzle: int = 128, major: str = "k", atoms_of_32_bytes: bool = False
) -> TileLayout:
    """A tile of a matrix in shared memory, as a tensor copy with this swizzle leaves it and wgmma or tcgen05 reads it.

    rows: of M or N; cols: of K; swizzle: 0, 32, 64 or 128 bytes; major: the dimension that is contiguous, "k" or "mn".
    atoms_of_32_bytes: with 128, two chunks stay together, as MN-major tf32 of tcgen05 has it.
    Error: InvalidArgument.
    """
    code = _choice("swizzle", swizzle, _SWIZZLES)
    given = sized(
        _abi.lemma_smem_tile,
        type=type.encode(),
        swizzle=code,
        mn_major=_choice("major", major, {"k": 0, "mn": 1}),
        rows=rows,
        cols=cols,
        atoms_of_32_bytes=atoms_of_32_bytes,
    )
    made = ctypes.POINTER(_abi.lemma_smem_layout)()
    check(library.lemma_lay_out(ctypes.byref(given), ctypes.byref(made)))
    record: Any = take(made, _abi._lemma_smem_layout, library.lemma_smem_layout_release)
    name = f"{swizzle}B{'_ATOM_32B' if atoms_of_32_bytes else ''}" if swizzle else "none"
    return TileLayout(record, ["--type", type, "--swizzle", name, "--major", major, "--rows", str(rows), "--cols", str(cols)])


Descriptor = _abi.Descriptor

_OPERANDS = {"any": 0, "idesc": 1, "a-desc": 2, "b-desc": 3, "s-desc": 4, "zero-column-mask-desc": 5}


def descriptor(
    bits: int, of: Optional[str] = None, *, operand: str = "any", major: str = "k", a_in_tensor_memory: bool = False
) -> Descriptor:
    """What a descriptor says: `what`, `fields` (name, bits, value, meaning), `problem` (the first rule that it breaks, or empty) and, of
    an instruction descriptor that breaks none, `product`: its name for layout() and mma().

    of: "wgmma", "tcgen05" (a matrix in shared memory), "kind::f16" or a spelling of tcgen05.mma; left out, a matrix descriptor, whose
    version says of which. operand: "any" (what it fits), "idesc", "a-desc", "b-desc", "s-desc", "zero-column-mask-desc".
    major: of a matrix, "k" or "mn".
    Error: InvalidArgument.
    """
    given = sized(
        _abi.lemma_descriptor_query,
        bits=bits,
        of=encoded(of),
        operand=_choice("operand", operand, _OPERANDS),
        mn_major=_choice("major", major, {"k": 0, "mn": 1}),
        a_in_tensor_memory=a_in_tensor_memory,
    )
    made = ctypes.POINTER(_abi.lemma_descriptor)()
    check(library.lemma_explain_descriptor(ctypes.byref(given), ctypes.byref(made)))
    return take(made, _abi._lemma_descriptor, library.lemma_descriptor_release)

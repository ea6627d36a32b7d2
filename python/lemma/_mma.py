"""One matrix product as a machine computes it, bit for bit: without PTX, registers or layouts."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from . import _abi
from ._library import check, encoded, library, sized
from .errors import InvalidArgument
from .memory import host_array
from .types import numpy_type

Form = _abi.MmaForm


def mma_form(name: str, arch: Optional[str] = None) -> Form:
    """What a product takes: `spelling`, `arch`, `rule` (how the machine sums), operands `a`, `b`, `c`, `d` with type, rows and cols;
    of a sparse one `stored_a` and `metadata`, of a scaled one `scale_a` and `scale_b`.

    name: a matrix instruction, or enough of its start. arch: a target or machine; left out, sm_90, or the first that has it.
    Errors: InvalidArgument, which names those that are near; Unsupported, if the machine does not have it.
    """
    form = _open(name, arch)
    try:
        return _abi._lemma_mma_form(form[0])
    finally:
        library.lemma_mma_form_release(form)


def _open(name: str, arch: Optional[str]) -> Any:
    form = ctypes.POINTER(_abi.lemma_mma_form)()
    check(library.lemma_mma_form_of(name.encode(), encoded(arch), ctypes.byref(form)))
    return form


def bits_of(values: Any, type: str) -> np.ndarray:
    """The elements of an array as those of a PTX type, their bits in uint64. Error: InvalidArgument.

    Arrays of the type itself, and unsigned integers of its size for a floating-point type, are bits; other floating-point numbers
    are rounded to nearest even; integers have to fit.
    """
    source = host_array(values)
    array = np.ascontiguousarray(np.asarray(values) if source is None else source)
    if array.dtype.isbuiltin == 2:  # one of ml_dtypes'
        floating = "float" in array.dtype.name
        if floating and array.dtype == numpy_type(type):
            array = array.view(f"u{array.dtype.itemsize}")
        else:
            array = array.astype(np.float64 if floating else np.int64)
    elif array.dtype == bool:
        array = array.astype(np.uint8)
    made = np.empty(array.shape, np.uint64)
    pointer = made.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64))
    dtype = array.dtype.str.replace("=", "<").encode()
    check(library.lemma_bits_of(array.ctypes.data, array.nbytes, dtype, array.size, type.encode(), pointer))
    return made


def mma(
    name: str,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    arch: Optional[str] = None,
    metadata: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
) -> np.ndarray:
    """D = A * B + C of one matrix instruction: an array M x N of its type, with the bits of that machine.

    name: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16", or enough
    of the start of one.
    a: M x K (of a sparse one the dense matrix, or with `metadata` the stored half, M x K/2); b: K x N; c: M x N, zeros if left
    out. Elements are of the operand's type, or rounded to it: see bits_of(). metadata: M x chunks, 4 bits each.
    scale_a: M x scales of a row; scale_b: scales of a column x N.
    Errors: InvalidArgument, whose `operand` says which is wrong; Unsupported, if the machine does not have it.
    """
    form = _open(name, arch)
    try:
        record = _abi._lemma_mma_form(form[0])
        dense = metadata is None or record.stored_a is None
        given = {
            "a": (a, record.a if dense else record.stored_a), "b": (b, record.b), "c": (c, record.c),
            "metadata": (metadata, record.metadata), "scale_a": (scale_a, record.scale_a), "scale_b": (scale_b, record.scale_b),
        }  # fmt: skip
        operands, kept = sized(_abi.lemma_mma_operands), []
        for operand, (values, wanted) in given.items():
            if values is None:
                continue
            if wanted is None:
                raise InvalidArgument(f"{record.spelling} takes no {operand}", operand=operand)
            bits = bits_of(values, wanted.type)
            if bits.shape != (wanted.rows, wanted.cols):
                raise InvalidArgument(
                    f"{operand} is {' x '.join(map(str, bits.shape))}, {record.spelling} takes {wanted.rows} x {wanted.cols} of {wanted.type}",
                    operand=operand,
                )
            kept.append(bits)
            setattr(operands, operand, _abi.lemma_matrix(bits.ctypes.data, wanted.rows, wanted.cols, 8))
        assert record.d
        d = np.empty((record.d.rows, record.d.cols), f"u{record.d_element_bytes}")
        check(library.lemma_mma(form, ctypes.byref(operands), d.ctypes.data, d.nbytes))
        dtype = numpy_type(record.d.type)
        return d.view(dtype) if dtype.itemsize == d.dtype.itemsize else d
    finally:
        library.lemma_mma_form_release(form)

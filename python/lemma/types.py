"""The PTX ISA's element types and NumPy's: which is which, and how the narrow ones lie in memory.

bf16, fp8, fp6 and fp4 are ml_dtypes'; without it, arrays of unsigned integers of the same size hold their bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:  # optional
    ml_dtypes = None  # type: ignore[assignment]

_NUMPY = {
    "f64": "float64", "f32": "float32", "f16": "float16", "tf32": "float32",
    "s64": "int64", "s32": "int32", "s16": "int16", "s8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
    "b64": "uint64", "b32": "uint32", "b16": "uint16", "b8": "uint8", "b1": "uint8",
}  # fmt: skip
_ML_DTYPES = {
    "bf16": ("bfloat16", "uint16"), "e4m3": ("float8_e4m3fn", "uint8"), "e5m2": ("float8_e5m2", "uint8"),
    "ue4m3": ("float8_e4m3fn", "uint8"), "ue8m0": ("float8_e8m0fnu", "uint8"), "e2m3": ("float6_e2m3fn", "uint8"),
    "e3m2": ("float6_e3m2fn", "uint8"), "e2m1": ("float4_e2m1fn", "uint8"), "s4": ("int4", "int8"), "u4": ("uint4", "uint8"),
}  # fmt: skip
# Elements that NumPy keeps in a byte each, and memory in fewer bits.
NARROW_BITS = {
    "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6, "int2": 2, "uint2": 2,
}  # fmt: skip


def numpy_type(type: str) -> np.dtype:
    """The dtype for elements of a PTX type, "bf16" or ".bf16"; ml_dtypes' if it is installed, else of their bits.

    Error: ValueError if there is no such type.
    """
    name = type.lstrip(".")
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    if name in _ML_DTYPES:
        wanted, bits = _ML_DTYPES[name]
        return np.dtype(getattr(ml_dtypes, wanted)) if hasattr(ml_dtypes, wanted) else np.dtype(bits)
    raise ValueError(f"{type!r} is no element type; there are {', '.join([*_NUMPY, *_ML_DTYPES])}")


def ptx_type(dtype: Any) -> str:
    """The PTX type of a dtype's elements: "f32", "bf16", "e4m3". Error: ValueError if there is none."""
    name = np.dtype(dtype).name
    for table in ({k: v[0] for k, v in _ML_DTYPES.items()}, _NUMPY):
        for ptx, known in table.items():
            if known == name:
                return ptx
    raise ValueError(f"no PTX type has elements like numpy's {name}")


def pack(array: Any) -> np.ndarray:
    """Elements of 2, 4 or 6 bits, which NumPy keeps in a byte each, as memory has them: a vector of bytes, lowest bits first.

    array: of ml_dtypes' int4, uint4, float4_e2m1fn, float6_e2m3fn, ...; rows are not padded. Error: ValueError for others.
    """
    array = np.ascontiguousarray(array)
    bits = NARROW_BITS.get(array.dtype.name)
    if bits is None:
        raise ValueError(f"pack() is for elements narrower than a byte, not {array.dtype.name}")
    each = np.unpackbits(array.view(np.uint8).reshape(-1, 1), axis=1, count=bits, bitorder="little")
    return np.packbits(each.ravel(), bitorder="little")


def unpack(data: Any, dtype: Any, shape: Any) -> np.ndarray:
    """What pack() has made `data` of: an array of that dtype and shape. Error: ValueError if `data` has too few bytes."""
    dtype = np.dtype(dtype)
    bits = NARROW_BITS.get(dtype.name)
    if bits is None:
        raise ValueError(f"unpack() is for elements narrower than a byte, not {dtype.name}")
    count = int(np.prod(shape))
    flat = np.unpackbits(np.frombuffer(np.ascontiguousarray(data), np.uint8), bitorder="little")
    if flat.size < count * bits:
        raise ValueError(f"{count} elements of {bits} bits take {(count * bits + 7) // 8} bytes, there are {flat.size // 8}")
    each = np.zeros((count, 8), np.uint8)
    each[:, :bits] = flat[: count * bits].reshape(count, bits)
    made = np.packbits(each, axis=1, bitorder="little")
    if dtype.name.startswith("int"):  # a signed byte
        made = np.where(made >= 1 << (bits - 1), made - np.uint8(1 << bits), made).astype(np.uint8)
    return made.reshape(-1).view(dtype).reshape(shape)

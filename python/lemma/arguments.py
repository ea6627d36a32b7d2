"""Kernel arguments: Python and numpy values to the bytes of a parameter, whose type is what the PTX says."""

from __future__ import annotations

import re
import struct as _struct
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _abi
from .errors import InvalidArgument
from .memory import Array, Borrowed, host_array
from .tensor_map import BYTES, TensorMap, tensor_map

#: The dtype of a pointer, as a field of a lemma.struct().
pointer = np.dtype(np.uint64)


# ---- structs


def struct(fields: Sequence[Any], *, map_alignment: int = 128) -> np.dtype:
    """The dtype of a C struct: fields aligned as a C++ compiler aligns them.

    fields: (name, dtype) or (name, dtype, shape). lemma.pointer is a pointer, lemma.tensor_map a CUtensorMap; a struct() may be a field.
    map_alignment: of a CUtensorMap, in bytes: CUDA 13's cuda.h says 128, CUDA 12's 64.

        Params = lemma.struct([("a", lemma.tensor_map), ("d", lemma.pointer), ("rows", np.int32)])
        kernel[grid, block](lemma.Struct(Params, a=lemma.TensorMap(a, box=(64, 64)), d=d, rows=256))
    """
    names, formats, offsets, at, most = [], [], [], 0, 1
    for name, *format in fields:
        shape: Any = tuple(format) if len(format) > 1 else format[0]
        dtype: np.dtype = np.dtype(shape)
        alignment = _alignment(dtype, map_alignment)
        at = -(-at // alignment) * alignment
        names.append(name)
        formats.append(dtype)
        offsets.append(at)
        at += dtype.itemsize
        most = max(most, alignment)
    layout: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": -(-at // most) * most}
    return np.dtype(layout, metadata={"lemma_alignment": most})


def _alignment(dtype: np.dtype, map_alignment: int) -> int:
    base: Any = dtype.base
    if base == tensor_map:
        return map_alignment
    if base.metadata and "lemma_alignment" in base.metadata:
        return int(base.metadata["lemma_alignment"])
    if base.names:
        return max(_alignment(base.fields[n][0], map_alignment) for n in base.names) if base.isalignedstruct else 1
    return base.alignment


class Struct:
    """A struct by value, whose fields may be what arguments may be: arrays (for pointers), tensor maps, scalars, Structs.

    dtype: a structured one, of lemma.struct() or numpy's own. Fields by position or by name; those that are left out are zeros.
    Error: InvalidArgument if there is no such field.
    """

    def __init__(self, dtype: Any, *values: Any, **named: Any) -> None:
        self.dtype = np.dtype(dtype)
        if not self.dtype.names:
            raise InvalidArgument(f"Struct: {self.dtype} has no fields")
        if len(values) > len(self.dtype.names):
            raise InvalidArgument(f"Struct: {len(values)} values for {len(self.dtype.names)} fields")
        self.fields = dict(zip(self.dtype.names, values))
        for name, value in named.items():
            if name not in self.dtype.names or name in self.fields:
                raise InvalidArgument(f"Struct: {name!r} is given twice, or is none of {', '.join(self.dtype.names)}")
            self.fields[name] = value


# ---- what a launch has to copy


def borrow(value: Any, borrowed: Borrowed, name: str) -> Any:
    """Adds the arrays of the host that an argument has in it. Returns the argument, with them as numpy arrays."""
    if isinstance(value, TensorMap):
        if isinstance(value.array, np.ndarray):
            borrowed.add(value.array, name)
    elif isinstance(value, Struct):
        value.fields = {field: borrow(v, borrowed, f"{name}.{field}") for field, v in value.fields.items()}
    elif (array := host_array(value)) is not None and not (array.ndim == 0 and array.dtype.names):
        borrowed.add(array, name)
        return array
    return value


class Encoder:
    """Makes bytes of arguments, when all arrays have their addresses."""

    def __init__(self, borrowed: Borrowed) -> None:
        self.borrowed = borrowed
        self.device = borrowed.device
        self.kept: list[Array] = []  # tensor maps in device memory

    def address(self, value: Any) -> Optional[int]:
        """Of what a pointer may be; None for what is none."""
        if value is None:
            return 0
        if isinstance(value, Array):
            if value.device is not self.device:
                raise InvalidArgument("an Array of another device")
            if not value.address:
                raise InvalidArgument("an Array that was freed")
            return value.address
        if isinstance(value, np.ndarray):
            return self.borrowed.address(value)
        if isinstance(value, TensorMap):
            made = Array(self.device, BYTES, np.uint8, name="tensor map").copy_from(np.frombuffer(self.map(value), np.uint8))
            self.kept.append(made)
            return made.address
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            if self.device.info.kind != "cuda":
                raise InvalidArgument("memory of a GPU for a kernel on the virtual one")
            return int(interface["data"][0])
        return None

    def map(self, value: TensorMap) -> bytes:
        address = self.address(value.array)
        assert address is not None
        return value.encode(self.device, address)

    def struct(self, value: Struct) -> bytes:
        made = np.zeros((), value.dtype)
        raw = made.reshape(1).view(np.uint8)
        for field, given in value.fields.items():
            dtype, offset = value.dtype.fields[field][:2]  # type: ignore[index]
            if isinstance(given, Struct):
                data = self.struct(given)
            elif isinstance(given, TensorMap) and dtype.itemsize == BYTES:
                data = self.map(given)
            elif (address := self.address(given)) is not None and dtype.shape == () and dtype.itemsize == 8:
                data = _struct.pack("<Q", address)
            elif dtype.shape == () and not dtype.names and dtype.isbuiltin == 1 and dtype.kind in "iufb":
                data = scalar(
                    dtype.name, dtype.itemsize, _kind_of(dtype), given, lambda why: InvalidArgument(f"field {field}: {why}")
                )
            else:
                data = np.asarray(given).astype(dtype.base).tobytes()
            if len(data) != dtype.itemsize:
                raise InvalidArgument(f"field {field} has {dtype.itemsize} bytes, {len(data)} given")
            raw[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        return raw.tobytes()

    def parameter(self, value: Any, parameter: _abi.Parameter, label: str) -> bytes:
        """The bytes of a parameter. Error: InvalidArgument if the value is of the wrong kind or size."""

        def wrong(why: str) -> InvalidArgument:
            return InvalidArgument(f"{label} is {parameter.type}: {why}")

        size = parameter.size_bytes
        kind, bits = declared(parameter.type)
        if isinstance(value, Struct):
            data = self.struct(value)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
        elif isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names):
            data = value.tobytes()
        elif isinstance(value, TensorMap) and size == BYTES:
            data = self.map(value)
        elif (address := self.address(value)) is not None:
            if size != 8 or kind == "f":
                what = "a TensorMap" if isinstance(value, TensorMap) else "None" if value is None else "an array"
                raise wrong(f"{what} is for a parameter of {'8 or 128' if what == 'a TensorMap' else '8'} bytes")
            data = _struct.pack("<Q", address)
        elif kind == "array":
            # A __half or a bool2 by value is bytes to PTX: the value's own type counts.
            if not isinstance(value, (np.generic, np.bool_)):
                raise wrong(
                    f"give bytes, a lemma.Struct, a lemma.TensorMap or a numpy scalar of {size} bytes, not {type(value).__name__}"
                )
            data = value.tobytes()
        else:
            data = scalar(parameter.type, bits // 8, kind, value, wrong)
        if len(data) != size:
            raise wrong(f"it has {size} bytes, {len(data)} given")
        return data


# ---- scalars


def declared(type: str) -> tuple[str, int]:
    """Of a parameter's declared type: ("i", "f", "b" for bits or "array" for .b8[N]; bits of an element)."""
    match = re.fullmatch(r"\.([usbf])(\d+)(\[.*\])?", type)
    if not match:
        return "array", 8
    kind = {"u": "i", "s": "i", "b": "b", "f": "f"}[match[1]]
    return ("array" if match[3] else kind), int(match[2])


def _kind_of(dtype: np.dtype) -> str:
    return {"i": "i", "u": "i", "b": "i", "f": "f"}[dtype.kind]


def _is_float(value: Any) -> bool:
    """Also of bf16 and the like, which are no floats to numpy."""
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.generic) and "float" in value.dtype.name)


def scalar(type: str, bytes: int, kind: str, value: Any, wrong: Callable[[str], Exception]) -> bytes:
    """The bytes of a number for what has a type: kind "i" takes integers that fit signed or unsigned, "f" floats, "b" integers and
    numpy scalars of just that size. Python's True is 1. Raises wrong(why) for what is of the other kind."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if kind == "b" and isinstance(value, np.generic) and value.dtype.itemsize == bytes:
        return value.tobytes()
    if kind in "ib" and isinstance(value, (int, np.integer)):
        number, bits = int(value), 8 * bytes
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            raise wrong(f"{number} does not fit")
        return (number & ((1 << bits) - 1)).to_bytes(bytes, "little")
    if kind == "f" and _is_float(value):
        real = float(value)
        with np.errstate(over="ignore"):
            made = np.array(real).astype(f"<f{bytes}")
        if np.isinf(made) and abs(real) != float("inf"):
            raise wrong(f"{real!r} does not fit")
        return made.tobytes()
    if isinstance(value, (int, np.integer)):
        raise wrong(f"{value!r} is an integer; write {int(value)}.0 for that number")
    if _is_float(value) and kind == "b":
        raise wrong(
            f"{value!r} may be of many types; say which: np.float{8 * bytes}({float(value)!r})"
            if bytes in (2, 4, 8)
            else f"{value!r} is no integer"
        )
    if _is_float(value):
        raise wrong(
            f"{value!r} is a floating-point number; write {int(value)} for an integer"
            if value == value and abs(value) < 2**64
            else f"{value!r} is no integer"
        )
    raise wrong(f"{value.__class__.__name__} is no number")

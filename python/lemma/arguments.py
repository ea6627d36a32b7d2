"""Kernel arguments: Python and numpy values to the bytes of a parameter, whose type is what the PTX says."""

from __future__ import annotations

import contextlib
import re
import struct as _struct
from typing import Any, Callable, Iterator, Optional, Sequence

import numpy as np

from . import _abi
from ._library import near
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
            if name in self.fields:
                raise InvalidArgument(f"Struct: {name!r} is given twice")
            if name not in self.dtype.names:
                raise InvalidArgument(
                    f"Struct: there is no field {name!r}{near(name, self.dtype.names)}; there are {', '.join(self.dtype.names)}"
                )
            self.fields[name] = value
        for name, value in self.fields.items():
            dtype = self.dtype.fields[name][0]  # type: ignore[index]
            if isinstance(value, (int, float, np.generic)) and not isinstance(value, np.void) and _is_number(dtype):
                with naming(f"Struct: field {name}"):
                    scalar(dtype.name, dtype.itemsize, _kind_of(dtype), value, InvalidArgument)


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


def arrays_in(value: Any) -> list[Array]:
    """The Arrays of the device that an argument has in it, whole."""
    if isinstance(value, Array):
        return [value._owner or value]
    if isinstance(value, TensorMap):
        return arrays_in(value.array)
    if isinstance(value, Struct):
        return [a for field in value.fields.values() for a in arrays_in(field)]
    return []


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
            with naming(f"field {field}"):
                data = self._field(given, dtype)
                if len(data) != dtype.itemsize:
                    raise InvalidArgument(f"it has {dtype.itemsize} bytes, {len(data)} given")
            raw[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        return raw.tobytes()

    def _field(self, given: Any, dtype: np.dtype) -> bytes:
        if isinstance(given, Struct):
            return self.struct(given)
        if isinstance(given, (bytes, bytearray, memoryview)):
            return bytes(given)
        if dtype == tensor_map:
            if isinstance(given, TensorMap):
                return self.map(given)
            if not isinstance(given, np.void) and getattr(given, "dtype", None) != np.uint8:
                raise InvalidArgument(f"a tensor map is wanted: a lemma.TensorMap, or the bytes of one, not {_named(given)}")
            return given.tobytes()
        if dtype.shape == () and dtype.itemsize == 8 and (address := self.address(given)) is not None:
            return _struct.pack("<Q", address)
        if _is_number(dtype):
            return scalar(dtype.name, dtype.itemsize, _kind_of(dtype), given, InvalidArgument)
        values, base = np.asarray(given), dtype.base
        if _is_number(base) and base.kind in "iu" and values.dtype.kind in "iuO":  # astype() would cut them
            return b"".join(scalar(base.name, base.itemsize, "i", v, InvalidArgument) for v in values.flat)
        return values.astype(base).tobytes()

    def parameter(self, value: Any, parameter: _abi.Parameter, label: str) -> bytes:
        """The bytes of a parameter. Error: InvalidArgument if the value is of the wrong kind or size."""

        with naming(f"{label} is {parameter.type}"):
            return self._parameter(value, parameter)

    def _parameter(self, value: Any, parameter: _abi.Parameter) -> bytes:
        wrong = InvalidArgument
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
            _check_pointee(value, parameter.label)
            if size != 8 or kind == "f":
                what = "a TensorMap" if isinstance(value, TensorMap) else "None" if value is None else "an array"
                raise wrong(f"{what} is for a parameter of {'8 or 128' if what == 'a TensorMap' else '8'} bytes")
            data = _struct.pack("<Q", address)
        elif kind == "array":
            # A __half or a bool2 by value is bytes to PTX: the value's own type counts.
            if not isinstance(value, (np.generic, np.bool_)):
                raise wrong(f"give bytes, a lemma.Struct, a lemma.TensorMap or a numpy scalar of {size} bytes, not {_named(value)}")
            data = value.tobytes()
        elif hasattr(value, "__dlpack_device__"):
            raise wrong(
                f"a {type(value).__name__} of DLPack device {int(value.__dlpack_device__()[0])}; tensors of the CPU (device 1) are taken"
            )
        elif (parameter.is_pointer or parameter.label.endswith("*")) and not isinstance(value, (int, float, np.generic)):
            raise wrong(f"{_named(value)} for a pointer; give a numpy array, a lemma.Array, an address or None")
        else:
            data = scalar(parameter.type, bits // 8, kind, value, wrong)
        if len(data) != size:
            raise wrong(f"it has {size} bytes, {len(data)} given")
        return data


# ---- what is wrong


@contextlib.contextmanager
def naming(what: str) -> Iterator[None]:
    """Says in errors what they are about: an argument, a field."""
    try:
        yield
    except InvalidArgument as error:
        joined = ", " if error.text.startswith("field ") else ": "
        raise InvalidArgument(f"{what}{joined}{error.text}") from None


def _named(value: Any) -> str:
    if isinstance(value, (np.ndarray, Array)):
        return f"an array of {value.dtype.name}"
    name = value.__class__.__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


# By the C++ type that a pointer points to: the dtypes that an array may have, the first for messages. Bits of floats are unsigned.
_POINTEES: dict[str, tuple[str, ...]] = {
    "short": ("int16", "uint16"), "int": ("int32", "uint32"), "long": ("int64", "uint64"), "long long": ("int64", "uint64"),
    "float": ("float32", "uint32", "complex64"), "double": ("float64", "uint64", "complex128"), "__half": ("float16", "uint16"),
    "__nv_bfloat16": ("bfloat16", "uint16"),
}  # fmt: skip


def _check_pointee(value: Any, label: str) -> None:
    """Whether an array's elements are what a pointer of C++ points to, if that is a number. Error: InvalidArgument."""
    if not isinstance(value, (np.ndarray, Array)) or value.dtype.names or not label.endswith("*"):
        return
    pointee = label[:-1].removesuffix(" const").removeprefix("unsigned ")
    if pointee == "CUtensorMap_st" and value.dtype not in (np.uint8, tensor_map):
        raise InvalidArgument(f"{_named(value)} for {label}: give a lemma.TensorMap of it, or an Array with the bytes of one")
    allowed = _POINTEES.get(pointee)
    if allowed and value.dtype.name not in allowed:
        raise InvalidArgument(
            f"{_named(value)} for {label}: {allowed[0]} is wanted; array.view() in that type says that the bytes are meant"
        )


# ---- scalars


def declared(type: str) -> tuple[str, int]:
    """Of a parameter's declared type: ("i", "f", "b" for bits or "array" for .b8[N]; bits of an element)."""
    match = re.fullmatch(r"\.([usbf])(\d+)(\[.*\])?", type)
    if not match:
        return "array", 8
    kind = {"u": "i", "s": "i", "b": "b", "f": "f"}[match[1]]
    return ("array" if match[3] else kind), int(match[2])


def _is_number(dtype: np.dtype) -> bool:
    """Whether a field is one number of a type that numpy has itself."""
    return dtype.shape == () and not dtype.names and dtype.isbuiltin == 1 and dtype.kind in "iufb"


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
    raise wrong(f"{_named(value)} is no number")

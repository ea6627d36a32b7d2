"""Tensor maps: what tensor copies (TMA) are told about an array, and the box of it that they move."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _abi
from ._library import check, library, put, put_all, sized
from .errors import InvalidArgument
from .types import NARROW_BITS

BYTES = 128

_TYPES = {
    "u8": _abi.LEMMA_TENSOR_U8, "u16": _abi.LEMMA_TENSOR_U16, "u32": _abi.LEMMA_TENSOR_U32, "s32": _abi.LEMMA_TENSOR_S32,
    "u64": _abi.LEMMA_TENSOR_U64, "s64": _abi.LEMMA_TENSOR_S64, "f16": _abi.LEMMA_TENSOR_F16, "f32": _abi.LEMMA_TENSOR_F32,
    "f64": _abi.LEMMA_TENSOR_F64, "bf16": _abi.LEMMA_TENSOR_BF16, "f32_ftz": _abi.LEMMA_TENSOR_F32_FTZ,
    "tf32": _abi.LEMMA_TENSOR_TF32, "tf32_ftz": _abi.LEMMA_TENSOR_TF32_FTZ, "b4x16": _abi.LEMMA_TENSOR_B4X16,
    "b4x16_p64": _abi.LEMMA_TENSOR_B4X16_P64, "b6x16_p32": _abi.LEMMA_TENSOR_B6X16_P32,
}  # fmt: skip
_PACKED_BITS = {"b4x16": 4, "b4x16_p64": 4, "b6x16_p32": 6}
_OF_DTYPE = {
    "uint8": "u8", "int8": "u8", "bool": "u8", "uint16": "u16", "int16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64",
    "int64": "s64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_SWIZZLES_AND_ATOMS = {**_SWIZZLES, "128B_ATOM_32B": 4, "128B_ATOM_32B_FLIP_8B": 5, "128B_ATOM_64B": 6}
_INTERLEAVES = {0: 0, 16: 1, 32: 2}
_FILLS = {"zeros": 0, "nan": 1}
_L2 = {0: 0, 64: 1, 128: 2, 256: 3}


def _choice(what: str, value: Any, choices: dict) -> int:
    if value is None:
        value = 0
    if value not in choices:
        raise InvalidArgument(f"TensorMap: {what} is {value!r}; there are {', '.join(map(repr, choices))}")
    return choices[value]


class TensorMap:
    """A map of `array` for tensor copies of boxes of it. As a kernel argument it is the 128 bytes of a CUtensorMap by value; for a
    parameter that is a pointer, the address of those bytes in device memory.

    array: a numpy array or a lemma.Array of one to five dimensions; its shape, strides and type are the map's. All that is listed
    by dimension is in the order of the array's axes, as numpy has it: the contiguous one last. (The CUDA driver's order is the
    other way round.)
    box: elements by dimension. swizzle: 0, 32, 64 or 128 bytes; of sm_100 and up also "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B" and
    "128B_ATOM_64B". interleave: 0, 16 or 32 bytes. fill: "zeros" or "nan", for elements outside the array. l2: 0, 64, 128 or 256
    bytes. element_strides: by dimension; all 1 if left out.
    type: of the elements, if the dtype does not say it: "tf32", "f32_ftz", ...; elements of one byte are u8. "b4x16", "b4x16_p64"
    (padded in shared memory) and "b6x16_p32" are elements of 4 and 6 bits, of sm_100 and up: the array is of bytes, in which
    lemma.pack() has put them, and its last axis counts bytes; the box counts elements.

    Errors: InvalidArgument; the launch, or Device.encode(), names the rule of cuTensorMapEncodeTiled that the map breaks.
    """

    def __init__(
        self,
        array: Any,
        box: Sequence[int],
        *,
        swizzle: Union[int, str] = 0,
        interleave: int = 0,
        fill: str = "zeros",
        l2: int = 0,
        element_strides: Optional[Sequence[int]] = None,
        type: Optional[str] = None,
    ) -> None:
        from .memory import as_memory

        self.array = as_memory(array)
        self.box = tuple(int(b) for b in box)
        self._im2col: dict[str, Any] = {}
        self._set(swizzle, interleave, fill, l2, element_strides, type)
        if len(self.box) != self.array.ndim:
            raise InvalidArgument(f"TensorMap: a box of {len(self.box)} dimensions, the array has {self.array.ndim}")

    @classmethod
    def im2col(
        cls,
        array: Any,
        lower: Sequence[int],
        upper: Sequence[int],
        channels: int,
        pixels: int,
        *,
        swizzle: Union[int, str] = 0,
        interleave: int = 0,
        fill: str = "zeros",
        l2: int = 0,
        element_strides: Optional[Sequence[int]] = None,
        type: Optional[str] = None,
    ) -> TensorMap:
        """A map in im2col mode of images [N, (D, (H,)) W, C]: in place of a box, `pixels` pixels with `channels` channels each.

        lower, upper: corners of the bounding box by spatial dimension, in the order of the axes (D, H, W), rank - 2 each.
        """
        from .memory import as_memory

        made = cls.__new__(cls)
        made.array = as_memory(array)
        made.box = ()
        spatial = made.array.ndim - 2
        if len(lower) != spatial or len(upper) != spatial:
            raise InvalidArgument(
                f"TensorMap.im2col: corners of {len(lower)} and {len(upper)} dimensions, the array has {spatial} spatial ones"
            )
        made._im2col = {"lower": list(lower)[::-1], "upper": list(upper)[::-1], "channels": channels, "pixels": pixels}
        made._set(swizzle, interleave, fill, l2, element_strides, type)
        return made

    def _set(
        self, swizzle: Union[int, str], interleave: int, fill: str, l2: int, strides: Optional[Sequence[int]], type: Optional[str]
    ) -> None:
        rank = self.array.ndim
        if not 1 <= rank <= 5:
            raise InvalidArgument(f"TensorMap: an array of {rank} dimensions; there may be 1 to 5")
        if bits := NARROW_BITS.get(self.array.dtype.name):
            raise InvalidArgument(
                f"TensorMap: numpy keeps {self.array.dtype.name} in a byte each, a tensor map takes elements of {bits} bits packed:"
                f" lemma.TensorMap(lemma.pack(x).reshape(rows, -1), ..., type={'b6x16_p32' if bits == 6 else 'b4x16'!r})"
            )
        if type is None:
            type = "u8" if self.array.dtype.itemsize == 1 else _OF_DTYPE.get(self.array.dtype.name)
        if type not in _TYPES:
            raise InvalidArgument(
                f"TensorMap: no tensor type for {type or self.array.dtype.name}; type= may be {', '.join(_TYPES)}"
            )
        if type in _PACKED_BITS and self.array.dtype.itemsize != 1:
            raise InvalidArgument(f"TensorMap: {type} takes an array of bytes, not of {self.array.dtype.name}")
        if type in _PACKED_BITS and self.array.shape[-1] * 8 % _PACKED_BITS[type]:
            raise InvalidArgument(f"TensorMap: the {self.array.shape[-1]} bytes of the last axis are no whole elements of 6 bits")
        self.type = type
        self.swizzle = _choice("swizzle", swizzle, _SWIZZLES_AND_ATOMS)
        self.interleave = _choice("interleave", interleave, _INTERLEAVES)
        self.fill = _choice("fill", fill, _FILLS)
        self.l2 = _choice("l2", l2, _L2)
        if strides is not None and len(strides) != rank:
            raise InvalidArgument(f"TensorMap: {len(strides)} element strides for {rank} dimensions")
        self.element_strides = tuple(strides) if strides is not None else None
        if self.array.ndim and self.array.strides[-1] != self.array.dtype.itemsize and self.array.shape[-1] != 1:
            raise InvalidArgument("TensorMap: the array's last axis is not contiguous")
        if any(s < 0 for s in self.array.strides):
            raise InvalidArgument("TensorMap: the array has a negative stride")

    def encode(self, device: Any, address: int) -> bytes:
        """The map's 128 bytes, of the array at that address of a lemma.Device."""
        rank = self.array.ndim
        map = sized(
            _abi.lemma_tensor_map, address=address, rank=rank, type=_TYPES[self.type], interleave=self.interleave,
            swizzle=self.swizzle, oob_fill=self.fill, l2_promotion=self.l2,
        )  # fmt: skip
        put_all(map.dims, reversed(self.array.shape), "dims")
        if self.type in _PACKED_BITS:
            map.dims[0] = self.array.shape[-1] * 8 // _PACKED_BITS[self.type]
        put_all(map.strides_bytes, list(reversed(self.array.strides))[1:], "strides")
        put_all(map.box, reversed(self.box), "box")
        put_all(map.element_strides, reversed(self.element_strides or ()), "element_strides")
        if self._im2col:
            map.is_im2col = 1
            put(map, "channels_per_pixel", self._im2col["channels"])
            put(map, "pixels_per_column", self._im2col["pixels"])
            put_all(map.lower, self._im2col["lower"][: rank - 2], "lower")
            put_all(map.upper, self._im2col["upper"][: rank - 2], "upper")
        made = ctypes.create_string_buffer(BYTES)
        try:
            check(library.lemma_tensor_map_encode(device._handle, ctypes.byref(map), made))
        except InvalidArgument as error:
            raise InvalidArgument(_by_axis(error.text, rank)) from None
        return made.raw


def _by_axis(text: str, rank: int) -> str:
    """A message about the driver's dimensions, the innermost first, in the array's axes."""
    names = {"dims": "shape", "strides_bytes": "strides"}

    def axis(match: re.Match) -> str:
        dimension = int(match[2]) + (match[1] == "strides_bytes")
        return f"{names.get(match[1], match[1])}[{rank - 1 - dimension}]"

    return re.sub(r"\b(dims|strides_bytes|box|element_strides)\[(\d)\]", axis, text)


#: The dtype of a tensor map's bytes, as a field of a lemma.struct().
tensor_map = np.dtype((np.void, BYTES))

"""Arrays on a device, and arrays of the host that a launch borrows: copied in before it, and out after it."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _abi
from ._library import check, encoded, library, sized
from .errors import InvalidArgument, OutOfMemory

if TYPE_CHECKING:
    from .device import Device


def host_array(value: Any) -> Optional[np.ndarray]:
    """The numpy array that `value` is, or whose memory it shares by DLPack (tensors of the CPU: torch, jax, ...); else None.

    Error: InvalidArgument, if it is an array that kernels cannot have: of objects, or of the other byte order.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, np.generic) or isinstance(value, Array) or not hasattr(value, "__dlpack__"):
        return None
    else:
        device = value.__dlpack_device__()
        if int(device[0]) != 1:
            return None
        array = _from_dlpack(value, device)
    if array.dtype.hasobject or not array.dtype.isnative:
        raise InvalidArgument(f"an array of {array.dtype!r} cannot be in device memory")
    return array


# Whether numpy has DLPack 1.0.
_VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class _Exported:
    """A DLPack capsule that was made already."""

    def __init__(self, capsule: Any, device: Any) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def _from_dlpack(value: Any, device: Any) -> np.ndarray:
    """What says that it may not be written may not; DLPack before 1.0 could not say so, and numpy then supposes the worst."""
    capsule = None
    if _VERSIONED:
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            pass
    if capsule is None:
        capsule = value.__dlpack__()
    says = "dltensor_versioned" in repr(capsule)
    array = np.from_dlpack(_Exported(capsule, device))
    return array if says or array.flags.writeable or not array.size else _writeable(array)


def _writeable(array: np.ndarray) -> np.ndarray:
    """The same memory, to be written."""
    low, high = bounds(array)
    memory = (ctypes.c_char * (high - low)).from_address(low)
    memory._keep = array  # type: ignore[attr-defined]
    buffer: Any = memory
    return np.ndarray(array.shape, array.dtype, buffer, array.ctypes.data - low, array.strides)


def bounds(array: np.ndarray) -> tuple[int, int]:
    """The addresses of the first byte of an array's elements, and behind the last."""
    low = high = array.ctypes.data
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.dtype.itemsize


def as_memory(value: Any) -> Any:
    """`value` as what has shape, strides and dtype: a lemma.Array or a numpy array. Error: InvalidArgument if it is none."""
    if isinstance(value, Array):
        return value
    array = host_array(value)
    if array is None:
        raise InvalidArgument(f"{type(value).__name__} is no array")
    return array


class Array:
    """An array in device memory, which stays there from launch to launch: gpu.zeros(), gpu.array(), ... make them.

    As a kernel argument it is its address. C order; `shape`, `strides` (bytes), `dtype`, `size`, `nbytes` and `ndim` are as numpy
    has them. The memory is freed with the Array, or by free(); slices of the first axis share it.
    """

    def __init__(
        self, device: Device, shape: Any, dtype: Any, *, poisoned: bool = False, shared: bool = False, name: Optional[str] = None,
        _address: int = 0, _owner: Any = None, _strides: Optional[tuple[int, ...]] = None,
    ) -> None:  # fmt: skip
        self.device = device
        self.shape: tuple[int, ...] = tuple(int(e) for e in shape) if np.iterable(shape) else (int(shape),)
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject:
            raise InvalidArgument("an array of objects cannot be in device memory")
        self.ndim = len(self.shape)
        if any(extent < 0 for extent in self.shape):
            raise InvalidArgument(f"an array of the shape {self.shape}: no extent is negative")
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        if self.nbytes >= 1 << 63:
            raise OutOfMemory(f"an array of the shape {self.shape} has {self.nbytes} bytes: no device has so many")
        self.strides = tuple(math.prod(self.shape[i + 1 :]) * self.dtype.itemsize for i in range(self.ndim))
        self.shared = shared
        self._owner = _owner
        if _owner is not None:
            self.address = _address
            return
        options = sized(_abi.lemma_allocate_options, poisoned=poisoned, host_shared=shared, name=encoded(name or "array"))
        address = ctypes.c_uint64()
        check(library.lemma_allocate(device._handle, self.nbytes, ctypes.byref(options), ctypes.byref(address)))
        #: Where the kernel sees it, aligned to 256 bytes.
        self.address = address.value

    def free(self) -> None:
        """Frees the memory now. What still uses the address gets an error, or a fault."""
        if self._owner is None and self.address:
            handle, address, self.address = self.device._handle, self.address, 0
            if handle:
                check(library.lemma_free(handle, address))

    def __del__(self) -> None:
        try:
            if self._owner is None and self.address and self.device._work.free_later(self.address):
                self.address = 0
            self.free()
        except Exception:  # of a device that is lost, or at the interpreter's end
            pass

    def numpy(self) -> np.ndarray:
        """A copy of what is in it; of memory that is shared, that memory itself. Errors: DeviceLost, InvalidArgument."""
        if self.shared:
            if self.nbytes == 0:
                return np.empty(self.shape, self.dtype)
            memory = (ctypes.c_char * self.nbytes).from_address(self.address)
            memory._keep = self._owner or self  # type: ignore[attr-defined]
            return np.frombuffer(memory, self.dtype, self.size).reshape(self.shape)
        made = np.empty(self.shape, self.dtype)
        check(library.lemma_copy_from_device(self.device._handle, made.ctypes.data, self.address, self.nbytes))
        return made

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False and not self.shared:
            raise ValueError("device memory cannot be seen without a copy")
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def copy_from(self, values: Any) -> Array:
        """Writes an array of this shape, or what broadcasts to it, converted to this dtype. Returns this Array."""
        source = host_array(values)
        source = np.asarray(values) if source is None else source
        full = np.ascontiguousarray(np.broadcast_to(source.astype(self.dtype, copy=False), self.shape))
        check(library.lemma_copy_to_device(self.device._handle, self.address, full.ctypes.data, self.nbytes))
        return self

    def __getitem__(self, index: Any) -> Array:
        """A part along the first axis, with the same memory: an integer, or a slice with a step of 1."""
        if not self.ndim:
            raise InvalidArgument("an Array without dimensions has no parts")
        if isinstance(index, slice):
            start, stop, step = index.indices(self.shape[0])
            if step != 1:
                raise InvalidArgument("a slice of an Array has a step of 1")
            shape = (max(stop - start, 0), *self.shape[1:])
        else:
            start = range(self.shape[0])[index]
            shape = self.shape[1:]
        return self._view(shape, self.dtype, start * self.strides[0])

    def view(self, dtype: Any, shape: Any = None) -> Array:
        """The same memory as elements of another dtype (and shape). Error: InvalidArgument if it is too small."""
        dtype = np.dtype(dtype)
        if shape is None:
            shape = (*self.shape[:-1], self.shape[-1] * self.dtype.itemsize // dtype.itemsize) if self.ndim else ()
        return self._view(shape, dtype, 0)

    def reshape(self, *shape: int) -> Array:
        """The same memory in another shape."""
        new = np.empty(0, np.int8) if self.size == 0 else np.broadcast_to(np.int8(0), self.shape)
        return self._view(new.reshape(*shape).shape, self.dtype, 0)

    def _view(self, shape: Any, dtype: Any, offset: int) -> Array:
        made = Array(self.device, shape, dtype, shared=self.shared, _address=self.address + offset, _owner=self._owner or self)
        if made.nbytes + offset > self.nbytes:
            raise InvalidArgument(f"{made.nbytes} bytes at {offset} are more than the {self.nbytes} that there are")
        return made

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<lemma.Array {self.dtype.name}{list(self.shape)} at {self.address:#x} of {self.device!r}>"

    # What Triton asks of a tensor.
    def data_ptr(self) -> int:
        return self.address

    def stride(self, dim: Optional[int] = None) -> Any:
        """Strides in elements, as torch has them."""
        made = tuple(s // self.dtype.itemsize for s in self.strides)
        return made if dim is None else made[dim]

    # Exchange with other libraries.
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Optional[bool] = None) -> Any:
        """For torch.from_dlpack() and the like: shared memory itself, of other memory a copy on the host."""
        if copy is False and not self.shared:
            raise BufferError("device memory cannot be seen without a copy; gpu.shared() makes memory that can")
        if dl_device is not None and tuple(map(int, dl_device)) != (1, 0):
            raise BufferError(f"an Array is exported as memory of the CPU, not of DLPack device {tuple(dl_device)}")
        memory = self.numpy()
        if copy and self.shared:
            memory = memory.copy()
        # numpy before 2.1 knows no versions.
        return memory.__dlpack__(max_version=max_version) if max_version and _VERSIONED else memory.__dlpack__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.info.kind != "cuda":
            raise AttributeError("__cuda_array_interface__")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}


class Borrowed:
    """Arrays of the host while a launch runs. Those whose memory overlaps share it on the device too, so that a kernel sees
    views, and an array that is given twice, as it would on a GPU. A view's strides are kept: element 0 is where the pointer points.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.arrays: list[tuple[np.ndarray, str]] = []
        self._memory: list[tuple[int, int, Array]] = []

    def add(self, array: np.ndarray, name: str) -> None:
        self.arrays.append((array, name))

    def copy_in(self) -> None:
        """Allocates for all arrays, if that is not done, and writes what they hold."""
        if not self._memory:
            parts: list[list[Any]] = []
            for (low, high), name in sorted(((bounds(a), n) for a, n in self.arrays), key=lambda p: p[0]):
                if parts and low < parts[-1][1]:
                    parts[-1][1] = max(parts[-1][1], high)
                else:
                    parts.append([low, high, name])
            for low, high, name in parts:
                self._memory.append((low, high, Array(self.device, high - low, np.uint8, name=name)))
        for low, high, memory in self._memory:
            if high > low:
                check(library.lemma_copy_to_device(self.device._handle, memory.address, low, high - low))

    def address(self, array: np.ndarray) -> int:
        """Of element 0 on the device."""
        low, high = bounds(array)
        for start, end, memory in self._memory:
            if start <= low and high <= end and (low < end or low == high == start):
                return memory.address + array.ctypes.data - start
        raise AssertionError("an array that was not added")

    def copy_out(self) -> None:
        """Writes back what may be written."""
        for array, _ in self.arrays:
            if not array.flags.writeable or array.size == 0:
                continue
            low, high = bounds(array)
            address = self.address(array) - (array.ctypes.data - low)
            if high - low == array.nbytes:  # no gaps, in whatever order
                check(library.lemma_copy_from_device(self.device._handle, low, address, high - low))
                continue
            made = np.empty(high - low, np.uint8)
            check(library.lemma_copy_from_device(self.device._handle, made.ctypes.data, address, high - low))
            array[...] = np.ndarray(array.shape, array.dtype, made, array.ctypes.data - low, array.strides)

    def outputs(self) -> list[np.ndarray]:
        """Copies of all bytes that may be written, one vector for each piece of memory."""
        return [
            memory.numpy()
            for low, high, memory in self._memory
            if any(a.flags.writeable and low <= bounds(a)[0] < high for a, _ in self.arrays)
        ]

    def free(self) -> None:
        for _, _, memory in self._memory:
            memory.free()
        self._memory = []

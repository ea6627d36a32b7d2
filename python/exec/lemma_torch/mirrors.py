"""What CUDA tensors hold, on the host and back: the bytes that a tensor covers and no others, by copies on its stream.

A copy is what `lemma exec --check` sees of an operator, so it reads and writes what the operator does: rows of a view and not
what lies between them. Tensors that share a storage share a mirror of it, so that views see each other.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Iterable, Iterator, NamedTuple

import torch

_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3  # cudaMemcpyKind


@functools.lru_cache(maxsize=None)
def _runtime() -> ctypes.CDLL:
    runtime = ctypes.CDLL("libcudart.so.13")  # the one that torch has loaded
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    address, size, stream = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    runtime.cudaMemcpyAsync.argtypes = [address, address, size, ctypes.c_int, stream]
    runtime.cudaMemcpy2DAsync.argtypes = [address, size, address, size, size, size, ctypes.c_int, stream]
    runtime.cudaMemsetAsync.argtypes = [address, ctypes.c_int, size, stream]
    runtime.cudaStreamSynchronize.argtypes = [stream]
    runtime.cudaLaunchHostFunc.argtypes = [stream, ctypes.c_void_p, ctypes.c_void_p]
    return runtime


def call(function: str, *arguments) -> None:
    """A function of CUDA's runtime. Error: RuntimeError, as torch words it."""
    status = getattr(_runtime(), function)(*arguments)
    if status != 0:
        raise RuntimeError(f"CUDA error: {_runtime().cudaGetErrorString(status).decode()} ({function})")


def stream_of(device: torch.device) -> int:
    """The current stream's handle."""
    return torch._C._cuda_getCurrentRawStream(torch.cuda.current_device() if device.index is None else device.index)


class Rows(NamedTuple):
    """So many rows of so many bytes, `pitch` bytes apart, from a byte of a storage on."""

    begin: int
    width: int
    count: int
    pitch: int


def _dimensions(tensor: torch.Tensor) -> tuple[int, list[tuple[int, int]]]:
    """The bytes that lie without a gap, and (size, stride in bytes) of what is around them, the widest stride first."""
    width = tensor.element_size()
    around: list[tuple[int, int]] = []
    for stride, size in sorted((t * width, s) for s, t in zip(tensor.size(), tensor.stride()) if s > 1 and t != 0):
        last = around[-1] if around else None
        if not around and stride == width:
            width *= size
        elif last and stride == last[0] * last[1]:
            around[-1] = (last[0] * size, last[1])
        else:
            around.append((size, stride))
    return width, around[::-1]


def _covered(width: int, around: list[tuple[int, int]]) -> int:
    return width + sum((size - 1) * stride for size, stride in around)


def span(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte of its storage that it covers, and the one after the last."""
    begin = tensor.storage_offset() * tensor.element_size()
    if tensor.numel() == 0:
        return begin, begin
    return begin, begin + _covered(*_dimensions(tensor))


def rows(tensor: torch.Tensor) -> Iterator[Rows]:
    """What it covers."""
    if tensor.numel() == 0:
        return
    width, around = _dimensions(tensor)
    begin = tensor.storage_offset() * tensor.element_size()
    count, pitch = around.pop() if around else (1, width)
    if pitch < width:  # rows that overlap, as of unfold()
        width, count, pitch = _covered(width, [(count, pitch)]), 1, 0
    places = [begin]
    for size, stride in around:
        places = [place + i * stride for place in places for i in range(size)]
    for place in places:
        yield Rows(place, width, count, pitch or width)


def _copy_rows(to: int, source: int, all_rows: Iterable[Rows], shift_to: int, shift_source: int, kind: int, stream: int) -> None:
    for row in all_rows:
        a, b = to + row.begin - shift_to, source + row.begin - shift_source
        if row.count == 1:
            call("cudaMemcpyAsync", a, b, row.width, kind, stream)
        else:
            call("cudaMemcpy2DAsync", a, row.pitch, b, row.pitch, row.width, row.count, kind, stream)


_ALIGNED = 64  # so that elements of every type lie in a mirror as they do in the storage


class Mirror:
    """The bytes of one storage from `begin` on, on the host."""

    def __init__(self, storage: torch.UntypedStorage, begin: int, end: int) -> None:
        self.address = storage.data_ptr()
        self.begin = begin // _ALIGNED * _ALIGNED
        self.bytes = torch.empty(end - self.begin, dtype=torch.uint8)
        self._filled: set[tuple] = set()

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor on the host. What it holds is there after fill() and the stream's work."""
        offset = tensor.storage_offset() - self.begin // tensor.element_size()
        mirrored = torch.empty(0, dtype=tensor.dtype).set_(self.bytes.untyped_storage(), offset, tensor.size(), tensor.stride())
        if tensor.is_conj():
            mirrored = mirrored.conj()
        return torch._neg_view(mirrored) if tensor.is_neg() else mirrored

    def fill(self, tensor: torch.Tensor, stream: int) -> None:
        key = (tensor.storage_offset(), tensor.size(), tensor.stride(), tensor.dtype)
        if key not in self._filled:
            self._filled.add(key)
            _copy_rows(self.bytes.data_ptr(), self.address, rows(tensor), self.begin, 0, _TO_HOST, stream)

    def write_back(self, tensor: torch.Tensor, stream: int) -> None:
        _copy_rows(self.address, self.bytes.data_ptr(), rows(tensor), 0, self.begin, _TO_DEVICE, stream)


class Mirrors:
    """Of some CUDA tensors, by storage."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        spans: dict[int, tuple[torch.UntypedStorage, int, int]] = {}
        for tensor in tensors:
            storage = tensor.untyped_storage()
            begin, end = span(tensor)
            if known := spans.get(storage._cdata):
                begin, end = min(begin, known[1]), max(end, known[2])
            spans[storage._cdata] = (storage, begin, end)
        self._by_storage = {key: Mirror(*of) for key, of in spans.items()}

    def mirror(self, tensor: torch.Tensor) -> Mirror:
        return self._by_storage[tensor.untyped_storage()._cdata]


def to_device(host: torch.Tensor, like: torch.Tensor, stream: int) -> None:
    """A dense tensor of the host to a CUDA tensor of the same size and strides."""
    shift = host.storage_offset() * host.element_size()
    _copy_rows(like.data_ptr(), host.data_ptr(), rows(host), shift, shift, _TO_DEVICE, stream)


def on_device(to: torch.Tensor, source: torch.Tensor, stream: int) -> None:
    """The bytes of one dense CUDA tensor to another of the same strides."""
    call("cudaMemcpyAsync", to.data_ptr(), source.data_ptr(), to.numel() * to.element_size(), _ON_DEVICE, stream)

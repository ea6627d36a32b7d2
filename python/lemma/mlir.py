"""MLIR programs in the nvgpu dialect: to PTX, and run whole with their host code."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _abi, errors
from ._library import check, encoded, library, read_text, sized, take
from .arguments import Encoder
from .launch import Options, _configuration, with_defaults
from .memory import Array, host_array

_STAGES = {
    "ptx": _abi.LEMMA_MLIR_PTX, "nvgpu": _abi.LEMMA_MLIR_NVGPU, "nvvm": _abi.LEMMA_MLIR_NVVM, "llvm": _abi.LEMMA_MLIR_LLVM,
}  # fmt: skip


class Signature:
    """The parameters of a gpu.func: a memref of it is several parameters of the PTX."""

    def __init__(self, compiled: Compiled, kernel: Any) -> None:
        self._compiled = compiled  # whose memory the kernel's is
        self._parameters = [kernel.parameters[i] for i in range(kernel.parameter_count)]

    def encode(self, kernel: Any, arguments: Sequence[Any], encoder: Encoder) -> list[bytes]:
        types = [p[0].type.decode() for p in self._parameters]
        if len(arguments) != len(types):
            raise errors.InvalidArgument(
                f"kernel {kernel.name}({', '.join(types)}) takes {len(types)} arguments, {len(arguments)} given"
            )
        data: list[bytes] = []
        for i, (value, parameter) in enumerate(zip(arguments, self._parameters)):
            label = f"argument {i} ({types[i]})"
            if not parameter[0].is_memref:
                data.append(encoder.parameter(value, kernel.parameters[len(data)], label))
                continue
            if not isinstance(value, (np.ndarray, Array)):
                raise errors.InvalidArgument(f"{label} takes an array, not {type(value).__name__}")
            words = (ctypes.c_uint64 * library.lemma_mlir_memref_words(parameter))()
            shape = (ctypes.c_uint64 * value.ndim)(*value.shape)
            address = encoder.address(value)
            check(library.lemma_mlir_expand_memref(parameter, address, value.nbytes, shape, value.ndim, words))
            data += [struct.pack("<Q", word) for word in words]
        return data


class Compiled:
    """A gpu.module as PTX: `text` (bytes), and `kernels`, Signatures by name."""

    def __init__(self, text: bytes, name: str, arch: Optional[str], module: Optional[str], stage: str = "ptx") -> None:
        if stage not in _STAGES:
            raise errors.InvalidArgument(f"stage is {stage!r}; there are {', '.join(_STAGES)}")
        options = sized(
            _abi.lemma_mlir_options, name=encoded(name), arch=encoded(arch), module=encoded(module), stage=_STAGES[stage]
        )
        made = ctypes.POINTER(_abi.lemma_mlir_compiled)()
        check(library.lemma_mlir_compile(text, len(text), ctypes.byref(options), ctypes.byref(made)))
        weakref.finalize(self, library.lemma_mlir_compiled_release, made)
        self._handle = made
        self.text: bytes = ctypes.string_at(made[0].text[0].text, made[0].text[0].size)
        self.kernels = {
            each.name.decode(): Signature(self, each) for each in (made[0].kernels[i][0] for i in range(made[0].kernel_count))
        }


def compile_mlir(
    source: Union[str, os.PathLike], *, name: Optional[str] = None, arch: Optional[str] = None, module: Optional[str] = None,
    stage: str = "ptx",
) -> str:  # fmt: skip
    """A .mlir file, or text, as PTX; or as far as `stage` says: "nvgpu", "nvvm", "llvm".

    arch: "sm_90a"; left out, what the gpu.module says. module: which gpu.module, if there are several.
    Errors: Rejected, with places in the MLIR; InvalidArgument; Unavailable, if Lemma was built without MLIR.
    """
    text, label = read_text(source, name)
    return Compiled(text, label, arch, module, stage).text.decode()


def run_mlir(
    source: Union[str, os.PathLike], *arguments: Any, entry: str = "main", device: str = "cpu", arch: Optional[str] = None,
    name: Optional[str] = None, memory: int = 0, **options: Any,
) -> int:  # fmt: skip
    """Compiles a .mlir file, or text, with host code, and calls its `entry`, which launches kernels. Returns what that returns.

    arguments: arrays for memrefs, in C order, which the program reads and writes; numpy scalars, of the parameter's type; an int is
    an index. options: seed, deterministic, async_, max_instructions and workers of its launches.
    Host code runs natively, in this process, with its rights.
    Errors: as compile_mlir(); LaunchError-like stops of kernels are an Error with the text of the fault.
    """
    text, label = read_text(source, name)
    given = (_abi.lemma_mlir_argument * len(arguments))()
    kept: list[Any] = []
    for i, (argument, value) in enumerate(zip(given, arguments)):
        argument.size = ctypes.sizeof(_abi.lemma_mlir_argument)
        array = host_array(value)
        if array is not None and array.ndim:
            if not array.flags.c_contiguous or not array.flags.writeable:
                raise errors.InvalidArgument(f"argument {i}: an array in C order that may be written is wanted")
            shape = (ctypes.c_uint64 * array.ndim)(*array.shape)
            argument.is_memory, argument.shape, argument.rank = 1, shape, array.ndim
        elif isinstance(value, (np.generic, int)):
            array = np.array(value, np.int64 if type(value) is int else None)
            shape = None
        else:
            raise errors.InvalidArgument(
                f"argument {i}: an array, a numpy scalar or an int is wanted, not {type(value).__name__}"
            )
        argument.data, argument.data_bytes = array.ctypes.data, array.nbytes
        kept.append((array, shape))
    config = _configuration(1, 1, with_defaults(Options(options)))
    asked = sized(
        _abi.lemma_mlir_run_options, name=encoded(label), device=device.encode(), arch=encoded(arch), entry=entry.encode(),
        max_memory_bytes=memory, argument_count=len(arguments), arguments=given, launch=ctypes.pointer(config),
    )  # fmt: skip
    ran = ctypes.POINTER(_abi.lemma_mlir_ran)()
    check(library.lemma_mlir_run(text, len(text), ctypes.byref(asked), ctypes.byref(ran)))
    result = take(ran, _abi._lemma_mlir_ran, library.lemma_mlir_ran_release)
    if result.stopped:
        raise errors.Error(result.stopped.text.rstrip("\n"))
    return result.returned

"""MLIR programs in the nvgpu dialect: to PTX, and run whole with their host code."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import warnings
import weakref
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _abi, errors
from ._library import check, encoded, library, read_text, sized, take
from .arguments import Encoder, naming
from .launch import Callbacks, Options, configuration, note, raise_for, report_for, run_in_thread, with_defaults
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
            _check_memref(value, types[i], parameter[0].element_bits, label)
            words = (ctypes.c_uint64 * library.lemma_mlir_memref_words(parameter))()
            shape = (ctypes.c_uint64 * value.ndim)(*value.shape)
            address = encoder.address(value)
            with naming(label):
                check(library.lemma_mlir_expand_memref(parameter, address, value.nbytes, shape, value.ndim, words))
            data += [struct.pack("<Q", word) for word in words]
        return data


def _check_memref(value: Any, type: str, element_bits: int, label: str) -> None:
    """Whether a memref of that type may be this array's memory. Sizes are the library's to check."""
    if not isinstance(value, (np.ndarray, Array)):
        raise errors.InvalidArgument(f"{label} takes an array, not {value.__class__.__name__}")
    match = re.match(r"memref<(?:[\d?]+x)*(\w+)", type)
    element = match[1] if match else ""
    known = {"f16": "float16", "f32": "float32", "f64": "float64", "index": "int64"}.get(element)
    wrong = value.dtype.name != known if known else element_bits and value.dtype.itemsize * 8 != max(element_bits, 8)
    if wrong or (re.fullmatch(r"[su]?i\d+", element) and value.dtype.kind not in "iub"):
        raise errors.InvalidArgument(f"{label} takes elements of {element}, not {value.dtype.name}")
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
        raise errors.InvalidArgument(f"{label} takes an array in C order: numpy.ascontiguousarray() makes one")


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
    an index.
    options: of all its launches, as lemma.Kernel lists them, but for sizes, which the program has, explore and progress. print gets
    what host code and kernels print (default: sys.stdout.write). What is doubtful about modules and launches is a Python warning.
    Host code runs natively, in this process, with its rights. Ctrl-C ends the launch that runs, and the program.
    Errors: as compile_mlir(); Fault of a kernel, which ends the program; Findings (check=True) after its end; Error, if a call of the
    runtime was wrong.
    """
    chosen = with_defaults(Options(options))
    if none := [name for name in ("smem", "cluster", "cooperative", "explore", "progress") if name in options]:
        raise errors.InvalidArgument(f"run_mlir() has no option {none[0]!r}: the program launches its kernels itself")
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
    config = configuration(1, 1, chosen)
    config.stop = stop = library.lemma_stop_create()
    asked = sized(
        _abi.lemma_mlir_run_options, name=encoded(label), device=device.encode(), arch=encoded(arch), entry=entry.encode(),
        max_memory_bytes=memory, argument_count=len(arguments), arguments=given, launch=ctypes.pointer(config),
    )  # fmt: skip
    callbacks, doubts, reports = Callbacks(), [], []
    callbacks.set_print(asked, chosen)
    callbacks.set(asked, "said", lambda lines: doubts.append(lines.decode("utf-8", "replace").rstrip("\n")))
    callbacks.set(asked, "launched", lambda _, report: reports.append(report_for(report, chosen)))
    ran = ctypes.POINTER(_abi.lemma_mlir_ran)()

    def ended(s: Any) -> tuple[int, Optional[str]]:
        """(what the program returned, why it was stopped)"""
        if not s.stopped:
            return s.returned, None
        if s.stopped[0].report:
            reports.append(report_for(s.stopped[0].report, chosen))
        return 0, s.stopped[0].text.decode("utf-8", "replace").rstrip("\n")

    try:
        call = lambda: library.lemma_mlir_run(text, len(text), ctypes.byref(asked), ctypes.byref(ran))  # noqa: E731
        check(run_in_thread(call, stop))
        returned, stopped = take(ran, ended, library.lemma_mlir_ran_release)
    finally:
        library.lemma_stop_release(stop)
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)
    callbacks.raise_()
    for report in reports:
        note(report)
    for report in reversed(reports):  # the one that has ended the program first
        raise_for(report, chosen)
    if stopped is not None and chosen.get("raises", True):
        raise errors.Error(stopped)
    return returned

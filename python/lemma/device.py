"""Devices, modules, kernels and module variables."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any, Iterator, Optional, Union

import numpy as np

from . import _abi, errors
from ._library import check, encoded, library, read_text, sized, take
from .arguments import declared, scalar
from .launch import Options, launch
from .memory import Array, host_array
from ._ptx import is_image, modules_of
from .report import Finding, Report
from .stream import Stream, Work
from .tensor_map import BYTES, TensorMap, tensor_map
from .types import numpy_type


def _close(open: list, work: Work) -> None:
    if open:
        work.finish(open[0])
        library.lemma_device_close(open.pop())


class Device:
    """A GPU: "cpu" is the virtual one, "cuda" a real one, through the driver. Both take the same kernels and arguments.

    arch: what the virtual GPU is, "sm_90a"; left out, each module's own target. ordinal: which real GPU. memory: bytes of the
    host's memory that the virtual GPU may take; left out, half of it.
    patience: seconds without anything happening after which a kernel that waits for another one, or for the host, is a deadlock.
    check_streams: stream_findings() has what streams do with the same memory without order.
    options: of all launches on this device, unless they say otherwise: check=True, ... (see Kernel).

    With `with`, or close(), its memory is freed at a known time, when its streams have ended. Errors: InvalidArgument (another kind, no such arch), Unavailable.
    """

    def __init__(
        self, kind: str = "cpu", arch: Optional[str] = None, *, ordinal: int = 0, memory: int = 0,
        patience: float = 10, check_streams: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        self.options = Options(options)
        given = sized(
            _abi.lemma_device_options, arch=encoded(arch), ordinal=ordinal, max_memory_bytes=memory,
            patience_seconds=patience or -1, check_streams=check_streams,
        )  # fmt: skip
        handle = ctypes.POINTER(_abi.lemma_device)()
        check(library.lemma_device_open(kind.encode(), ctypes.byref(given), ctypes.byref(handle)))
        self._open = [handle]  # empty when it is closed, also for Arrays that outlive it at the interpreter's end
        self._work = Work(check_streams)
        self._closing = weakref.finalize(self, _close, self._open, self._work)
        #: kind, name, driver, target.
        self.info: _abi.DeviceInfo = _abi._lemma_device_info(library.lemma_device_describe(handle)[0])
        # What an image must have PTX for; None: the virtual GPU becomes what it has PTX for.
        self._machine = arch if kind == "cpu" else self.info.target

    def close(self) -> None:
        """Frees the device and what was allocated on it; its Arrays and modules are of no use then."""
        self._closing()

    @property
    def _handle(self) -> Any:
        return self._open[0] if self._open else None

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"lemma.Device({self.info.kind!r}, {self.info.name}, {self.info.target})"

    # ---- memory

    def empty(self, shape: Any, dtype: Any = np.float32, *, name: Optional[str] = None) -> Array:
        """An Array of what was never written: a kernel that reads it before it is written has that in its report."""
        return Array(self, shape, dtype, poisoned=True, name=name)

    def zeros(self, shape: Any, dtype: Any = np.float32, *, name: Optional[str] = None) -> Array:
        """An Array of zeros. name: for messages."""
        return Array(self, shape, dtype, name=name)

    def array(self, values: Any, dtype: Any = None, *, name: Optional[str] = None) -> Array:
        """An Array with a copy of `values`: a numpy array, what has DLPack, a list, a TensorMap's bytes (Device.encode())."""
        source = host_array(values)
        source = np.asarray(values) if source is None else source
        return Array(self, source.shape, dtype or source.dtype, name=name).copy_from(source)

    def shared(self, shape: Any, dtype: Any = np.float32, *, name: Optional[str] = None) -> Array:
        """An Array of zeros in memory of host and device: its numpy() is that memory itself. While a kernel
        runs, what it waits for there with volatile or system-wide accesses may be written."""
        return Array(self, shape, dtype, shared=True, name=name)

    def encode(self, map: TensorMap) -> np.ndarray:
        """The 128 bytes of a tensor map of an Array, good on this device: for gpu.array(), or a field lemma.tensor_map.

        Errors: InvalidArgument names the rule that the map breaks, or says that its array is not on the device.
        """
        if not isinstance(map.array, Array):
            raise errors.InvalidArgument(
                "encode() is for a map of a lemma.Array; one of a numpy array has no address before the launch"
            )
        return np.frombuffer(map.encode(self, map.array.address), np.uint8).copy()

    # ---- streams

    def stream(self, *, non_blocking: bool = False) -> Stream:
        """A Stream. non_blocking: it does not wait for the legacy default stream, nor that for it."""
        options = sized(_abi.lemma_stream_options, non_blocking=non_blocking)
        return Stream(self, lambda handle, made: library.lemma_stream_create(handle, ctypes.byref(options), made))

    def default_stream(self) -> Stream:
        """The legacy default stream, that of launches and copies which return when all is done."""
        return Stream(self, library.lemma_stream_default, "default")

    def thread_default_stream(self) -> Stream:
        """The calling thread's own default stream."""
        return Stream(self, library.lemma_stream_thread_default, ("thread", threading.get_ident()))

    def synchronize(self) -> None:
        """Waits until all streams have done what they were given. Errors: as Stream.synchronize()."""
        handle = self._handle
        self._work.wait(lambda: library.lemma_device_synchronize(handle), None)

    def stream_findings(self) -> tuple[Finding, ...]:
        """Of check_streams=True: operations of streams that use the same memory, at least one writing, and that nothing orders; those that were
        found since the last call."""
        findings, info = ctypes.POINTER(_abi.lemma_findings)(), ctypes.POINTER(_abi.lemma_findings_info)()
        check(library.lemma_findings_create(ctypes.byref(findings)))
        try:
            check(library.lemma_findings_add_streams(findings, self._handle))
            check(library.lemma_findings_describe(findings, ctypes.byref(info)))
            return _abi._lemma_findings_info(info[0]).findings
        finally:
            library.lemma_findings_release(findings)

    # ---- modules

    def load(
        self,
        source: Union[str, os.PathLike],
        *,
        name: Optional[str] = None,
        arch: Optional[str] = None,
        module: Optional[str] = None,
        optimization: Optional[int] = None,
        raises: bool = True,
    ) -> Module:
        """A module of a .ptx file, a .mlir file (its gpu.module; `module` says which if there are several), or of PTX or MLIR text;
        or of an executable, library, object file, fatbin or cubin of nvcc with PTX that the
        machine runs (of several modules lemma.ptx_of_image() gives each).

        name: for messages, in place of the path. arch: what the virtual GPU is for this module. optimization: of a real GPU's
        driver, 0 to 4.
        Errors: Rejected, with the messages that `lemma verify` has; Unsupported, Unavailable, OutOfMemory. raises=False returns
        the error, which is false as a condition, and has `messages`.
        """
        try:
            return Module(self, source, name, arch, module, optimization)
        except errors.Error as error:
            if raises:
                raise
            return error  # type: ignore[return-value]


def _is_mlir(text: bytes, name: str) -> bool:
    return name.endswith(".mlir") or (not name.endswith(".ptx") and b"gpu.module" in text and b".visible" not in text)


def _module_of_image(content: bytes, name: str, arch: Optional[str]) -> tuple[bytes, str]:
    modules = modules_of(content, name, arch)
    if len(modules) > 1:
        raise errors.InvalidArgument(f"{name} has {len(modules)} modules: load one of lemma.ptx_of_image({name!r})")
    return modules[0].encode(), modules[0].name


class Module:
    """Kernels and variables: module["name"] is a Kernel, by its name in the PTX, demangled, or a part of it that fits one alone.

    `target` is the text's, `arithmetic` the machine whose bits its launches have, `messages` are warnings, `ptx` is the text.
    `assembled_by` is the ptxas that has made a GPU's code where the text is newer than the driver takes, else empty.
    """

    def __init__(
        self, device: Device, source: Union[str, os.PathLike], name: Optional[str], arch: Optional[str], part: Optional[str],
        optimization: Optional[int],
    ) -> None:  # fmt: skip
        self.device = device
        text, label = read_text(source, name)
        if is_image(text):
            text, label = _module_of_image(text, label, arch or device._machine)
        self._compiled: Any = None
        mlir: dict[str, Any] = {}
        if _is_mlir(text, label):
            from .mlir import Compiled

            self._compiled = Compiled(text, label, arch, part)
            mlir = self._compiled.kernels
            text, label = self._compiled.text, label.removesuffix(".mlir") + ".ptx"
        self.ptx: str = text.decode("utf-8", "replace")
        level = None if optimization is None else -1 if optimization == 0 else optimization
        options = sized(_abi.lemma_load_options, name=encoded(label), arch=encoded(arch), optimization=level)
        handle = ctypes.POINTER(_abi.lemma_module)()
        check(library.lemma_module_load(device._handle, text, len(text), ctypes.byref(options), ctypes.byref(handle)))
        self._handle = handle
        weakref.finalize(self, library.lemma_module_unload, handle)
        info: _abi.ModuleInfo = _abi._lemma_module_info(library.lemma_module_describe(handle)[0])
        self.target = info.target
        self.arithmetic = info.arithmetic
        self.messages = info.messages
        self.assembled_by = info.assembled_by
        self.kernels: tuple[Kernel, ...] = tuple(Kernel(self, each, mlir.get(each.name)) for each in info.kernels)
        #: By name, in the order of the text.
        self.variables: dict[str, Variable] = _Variables(self, info.variables)

    def kernel(self, name: Optional[str] = None) -> Kernel:
        """The kernel of that name; without one the only kernel. Error: InvalidArgument, which lists them."""
        found = ctypes.POINTER(_abi.lemma_kernel)()
        check(library.lemma_module_kernel(self._handle, encoded(name), ctypes.byref(found)))
        exact = found[0].name.decode()
        return next(k for k in self.kernels if k.name == exact)

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __bool__(self) -> bool:
        return True

    def variable(self, name: str) -> Variable:
        """A variable of module scope. Error: InvalidArgument, which lists them."""
        found = ctypes.POINTER(_abi.lemma_variable)()
        check(library.lemma_module_variable(self._handle, name.encode(), ctypes.byref(found)))
        return self.variables[found[0].name.decode()]

    def __repr__(self) -> str:
        return f"<lemma.Module {self.target}: {', '.join(k.name for k in self.kernels)}>"


class _Variables(dict[str, "Variable"]):
    """By name; one that there is not is an InvalidArgument, which lists them."""

    def __init__(self, module: Module, infos: tuple[_abi.Variable, ...]) -> None:
        super().__init__({each.name: Variable(module, each) for each in infos})
        self._module = weakref.ref(module)

    def __missing__(self, name: str) -> Variable:
        module = self._module()
        if module is None:
            raise KeyError(name)
        return module.variable(name)


class Variable:
    """A variable of module scope, .global or .const: `name`, `space`, `type` (as declared, ".b8[24]"), `address`, `nbytes`.

    It keeps its value from launch to launch. As a kernel argument its address is `address`.
    """

    def __init__(self, module: Module, info: _abi.Variable) -> None:
        self.module = module
        self.name, self.space, self.type, self.address, self.nbytes = (
            info.name, info.space, info.type, info.address, info.size_bytes,
        )  # fmt: skip

    def _dtype(self) -> np.dtype:
        kind, bits = declared(self.type)
        element = self.type.split("[")[0]
        try:
            return numpy_type(element)
        except ValueError:
            return np.dtype(f"u{bits // 8}")

    def set(self, value: Any) -> None:
        """Writes a number or an array, converted to the declared type, in which it has to fit. What is declared as .b8, as C arrays and structs are, takes
        numpy arrays and scalars of any type, and bytes, as they are.

        Error: InvalidArgument if that is more than the variable has, or a list for bytes.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
        elif self.type.startswith(".b8"):
            if not isinstance(value, (np.ndarray, np.generic)):
                raise errors.InvalidArgument(
                    f"{self.name} is {self.type}: give a numpy array, whose type counts, not {type(value).__name__}"
                )
            data = np.ascontiguousarray(value).tobytes()
        else:
            data = self._converted(value)
        check(library.lemma_variable_set(self.module._handle, self.name.encode(), data, len(data)))

    def _converted(self, value: Any) -> bytes:
        dtype, given = self._dtype(), np.asarray(value)

        def wrong(why: str) -> errors.InvalidArgument:
            return errors.InvalidArgument(f"variable {self.name} is {self.type}: {why}")

        if dtype.isbuiltin != 1:  # one of ml_dtypes'
            return np.ascontiguousarray(given.astype(dtype)).tobytes()
        if given.ndim == 0:
            return scalar(self.type, dtype.itemsize, declared(self.type.split("[")[0])[0], value, wrong)
        if dtype.kind in "iu" and given.size:
            bits = 8 * dtype.itemsize
            if given.dtype.kind not in "iub":
                raise wrong(f"an array of {given.dtype.name}, not of integers")
            if given.min() < -(1 << (bits - 1)) or given.max() >= 1 << bits:
                raise wrong(f"{given.min()} to {given.max()} do not fit")
        return np.ascontiguousarray(given.astype(dtype)).tobytes()

    def get(self, dtype: Any = None) -> Any:
        """Its value: a numpy scalar, or a vector of the declared elements (or of `dtype`). Error: DeviceLost."""
        made = np.empty(self.nbytes, np.uint8)
        check(library.lemma_variable_get(self.module._handle, self.name.encode(), made.ctypes.data, self.nbytes))
        elements = made.view(np.dtype(dtype) if dtype is not None else self._dtype())
        return elements if "[" in self.type else elements[0]

    def __repr__(self) -> str:
        return f"<lemma.Variable .{self.space} {self.type} {self.name} at {self.address:#x}>"


class Kernel:
    """A kernel of a module: kernel[grid, block](*arguments), or kernel[grid, block, dict(smem=196672, cluster=2)](*arguments).

    grid, block, cluster: a number or up to three. Arguments are the parameters', in order:

      an array        for a pointer. A numpy array, or a tensor of the CPU with DLPack: copied to the device before the launch, and
                      back after it if it may be written. A lemma.Array stays on the device.
      a number        takes the parameter's type from the PTX; a float for an integer parameter, an integer for a float one, and
                      what does not fit, are errors
      None, an int    for a pointer: null, an address
      lemma.TensorMap the 128 bytes of a CUtensorMap by value; for a pointer, the address of them in device memory
      lemma.Struct    a struct by value; a numpy structured scalar, or bytes, too

    Options, in the dict or by name behind the arguments, and for all launches of a Device:

      smem            bytes of dynamic shared memory
      cluster         CTAs of a cluster
      cooperative     all CTAs are resident at once
      check           the report has races, missing fences and waits; they raise Findings
      explore         in how many legal schedules it runs; what differs raises Differs
      suppress        a file of suppressions for findings
      async_          "eager" (default), "late", "random": when asynchronous operations complete
      elect           "lowest" (default): elect.sync elects the lowest lane, as a GPU does; "any": the highest
      engine          "auto", "interpreter", "compiled": what executes the kernel, with the same results; default: LEMMA_ENGINE, else "auto"
      on_fault        "stop" (default); "warn": accesses just past the end of an array go on, where a GPU has memory, with a warning
      deterministic, seed, schedule, workers, max_instructions, check_ctas, count_accesses, fidelity   as `lemma run --help` says
      print           called with what the kernel prints; default: sys.stdout.write
      progress        called with (CTAs done, CTAs) now and then
      raises          False: returns the report of a launch that faulted, in place of raising it

    Returns a lemma.Report. Errors: InvalidArgument (nothing ran), Fault, Findings, Differs, OutOfMemory, DeviceLost.
    """

    def __init__(self, module: Module, info: _abi.Kernel, mlir: Any = None) -> None:
        self.module = module
        self.name = info.name
        #: name, type, size_bytes, align_bytes, offset_bytes, is_pointer of each.
        self.parameters: tuple[_abi.Parameter, ...] = info.parameters
        self._mlir = mlir

    def __getitem__(self, shape: Any) -> Launch:
        grid, block, options = (*shape, None, None)[:3] if isinstance(shape, tuple) else (shape, None, None)
        if isinstance(shape, tuple) and (len(shape) > 3 or isinstance(shape[-1], dict) and len(shape) < 3):
            raise errors.InvalidArgument("kernel[grid, block] or kernel[grid, block, dict(smem=..., cluster=...)]")
        if block is None:
            raise errors.InvalidArgument("kernel[grid, block]: the block is missing")
        return Launch(self, grid, block, Options(options or {}))

    def __repr__(self) -> str:
        return f"<lemma.Kernel {self.name}({', '.join(p.type for p in self.parameters)})>"


class Launch:
    """A kernel with its grid, block and options; called with the arguments, it runs."""

    def __init__(self, kernel: Kernel, grid: Any, block: Any, options: Options) -> None:
        self.kernel, self.grid, self.block, self.options = kernel, grid, block, options

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        device = self.kernel.module.device
        chosen = device.options | self.options | Options(options)
        return launch(self.kernel, self.grid, self.block, chosen, arguments)

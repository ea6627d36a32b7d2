"""Triton kernels on the virtual GPU: compiled by Triton itself for any target, run on numpy arrays. No GPU, no torch.

    @triton.jit
    def add_kernel(x, y, out, n, BLOCK: tl.constexpr): ...

    lemma.triton.run(add_kernel, (4,), x, y, out, 1000, BLOCK=256, arch="sm_90")

Tried with Triton 3.5.1, 3.6.0 and 3.9.0. What is added to a kernel's parameters behind one's back is handled: constants and integers that are 1 are left
out, tensor descriptors become maps, shapes and strides, and scratch memory is appended.
"""

from __future__ import annotations

import ctypes
import re
import struct
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _abi
from ._library import check, library, sized
from .arguments import Encoder, scalar
from .device import Device
from .errors import InvalidArgument
from .launch import Options, configuration, run_kernel, with_defaults
from .memory import Array, Borrowed, as_memory, host_array
from .report import Report
from .tensor_map import BYTES

_INTEGERS = {f"{s}{bits}": bits // 8 for s in "iu" for bits in (8, 16, 32, 64)} | {"i1": 1, "u1": 1}
_FLOATS = {"fp16": 2, "fp32": 4, "f32": 4, "fp64": 8}


@dataclass
class TensorDescriptor:
    """A tensor descriptor that the host makes, of a numpy array or a lemma.Array: Triton's own takes tensors of a GPU alone.

    shape, strides: elements; block_shape: of the block that is loaded and stored; padding: "zero" or "nan", outside the array;
    round_f32_to_tf32: f32 is rounded to tf32 where it is loaded (Triton 3.9 and later).
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: list[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    @staticmethod
    def from_tensor(
        array: Any, block_shape: Sequence[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        """Of an array with its own shape and strides. Error: InvalidArgument if that is no array."""
        memory = as_memory(array)
        strides = [s // memory.dtype.itemsize for s in memory.strides]
        return TensorDescriptor(memory, list(memory.shape), strides, list(block_shape), padding, round_f32_to_tf32)


def _descriptors_round() -> bool:
    """Does this Triton have descriptors that round to tf32, and say of each that is a pointer whether it does? Since 3.9."""
    from triton.tools.tensor_descriptor import TensorDescriptor as Tritons

    return "round_f32_to_tf32" in Tritons.__dataclass_fields__


class _Tensor:
    """What Triton asks of a tensor: its dtype, and an address for what it may assume of it."""

    def __init__(self, address: int, dtype: np.dtype) -> None:
        self.address, self.dtype = address, dtype

    def data_ptr(self) -> int:
        return self.address


@dataclass
class Compiled:
    """A kernel as Triton has compiled it for a target: its PTX, and what a launch needs to know. compile() makes it."""

    name: str
    arch: str
    ptx: str
    threads: int  # of a CTA
    shared_bytes: int
    cluster: tuple[int, int, int]
    cooperative: bool
    #: By parameter of the Triton function: its type as Triton writes it, "*fp16", "i32", "constexpr".
    signature: dict[str, Any]
    #: Bytes of a CTA, and alignment: global scratch memory, then that of the profiler.
    scratch: tuple[tuple[int, int], ...]
    #: What Triton says of each tensor descriptor that is a map; none if descriptors are pointers.
    descriptors: Optional[list[dict[str, Any]]] = None
    metadata: Any = field(default=None, repr=False)


def _capability(arch: str) -> int:
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if not match:
        raise InvalidArgument(f"arch is {arch!r}; a target like 'sm_90' is wanted")
    return int(match[1])


def _unwrapped(kernel: Any, arguments: Sequence[Any], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The @triton.jit function of what may be decorated by @triton.autotune (its first configuration) and @triton.heuristics."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    while isinstance(kernel, (Autotuner, Heuristics)):
        positional = dict(zip(kernel.arg_names, arguments))
        if isinstance(kernel, Autotuner):
            config = kernel.configs[0]
            named = {**named, **{k: v for k, v in config.all_kwargs().items() if v is not None}}
            if config.pre_hook:
                config.pre_hook({**positional, **named})
        else:
            for name, heuristic in kernel.values.items():
                named = {**named, name: heuristic({**positional, **named})}
        kernel = kernel.fn
    if not hasattr(kernel, "params") or not hasattr(kernel, "_pack_args"):
        raise InvalidArgument(f"{kernel!r} is no @triton.jit function")
    return kernel, named


def _compile(kernel: Any, prepared: tuple[list[Any], dict[str, Any]], arch: str) -> tuple[Compiled, dict[str, Any]]:
    """(the kernel compiled for these arguments, the arguments by name)"""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.jit import create_function_from_signature

    arguments, named = prepared
    target = GPUTarget("cuda", _capability(arch), 32)
    backend = make_backend(target)
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    named = {**named, "debug": named.get("debug", kernel.debug) or False}
    bound, specialization, options = bind(*arguments, **named)
    options, signature, constants, attributes = kernel._pack_args(backend, named, bound, specialization, options)
    done = triton.compile(ASTSource(kernel, signature, constants, attributes), target=target, options=options.__dict__)
    meta = done.metadata
    compiled = Compiled(
        name=meta.name,
        arch=arch,
        ptx=done.asm["ptx"],
        threads=32 * meta.num_warps,
        shared_bytes=meta.shared,
        cluster=tuple(getattr(meta, "cluster_dims", (meta.num_ctas, 1, 1))),  # Triton 3.6 has but the number
        cooperative=bool(meta.launch_cooperative_grid),
        signature=signature,
        scratch=(
            (meta.global_scratch_size, meta.global_scratch_align),
            (getattr(meta, "profile_scratch_size", 0), getattr(meta, "profile_scratch_align", 1)),
        ),
        descriptors=getattr(meta, "tensordesc_meta", None) or None,
        metadata=meta,
    )
    return compiled, bound


class _Arguments:
    """The arguments of a Triton kernel: arrays borrowed, then the bytes of the PTX's parameters."""

    def __init__(self, device: Device) -> None:
        self.borrowed = Borrowed(device)
        self.encoder = Encoder(self.borrowed)
        self.arrays: list[Array] = []  # that were given
        self.scratch: list[Array] = []

    def prepared(self, value: Any, name: str) -> Any:
        """A Python argument, arrays of the host noted down."""
        if isinstance(value, tuple):
            made = [self.prepared(v, f"{name}[{i}]") for i, v in enumerate(value)]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        base = getattr(value, "base", None) if hasattr(value, "block_shape") else None
        if base is not None:
            rounded = getattr(value, "round_f32_to_tf32", False)
            return TensorDescriptor(self.prepared(base, name), value.shape, value.strides, value.block_shape, value.padding, rounded)
        if (array := host_array(value)) is not None:
            self.borrowed.add(array, name)
            return array
        if isinstance(value, Array):
            self.arrays.append(value._owner or value)
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, np.generic):
            return int(value) if value.dtype.kind in "iu" else float(value)
        return value

    def placed(self, value: Any) -> Any:
        """The same for Triton: arrays have become _Tensors, with their addresses."""
        if isinstance(value, tuple):
            made = [self.placed(v) for v in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        if isinstance(value, (np.ndarray, Array)):
            address = self.encoder.address(value)
            assert address is not None
            return _Tensor(address, value.dtype)
        if isinstance(value, TensorDescriptor):
            from triton.tools.tensor_descriptor import TensorDescriptor as Tritons

            # Its constructor asks for a tensor of torch's.
            made = Tritons.__new__(Tritons)
            made.__dict__.update(vars(value), base=self.placed(value.base), block_shape=list(value.block_shape))
            if value.round_f32_to_tf32 and not _descriptors_round():
                raise InvalidArgument("round_f32_to_tf32: this Triton rounds no f32 of descriptors; 3.9 does")
            return made
        return value

    def encode(self, compiled: Compiled, bound: dict[str, Any], parameter_count: int, ctas: int) -> list[bytes]:
        """The bytes of each parameter of the PTX."""
        descriptors = iter(compiled.descriptors or ())
        data: list[bytes] = []
        for (name, type), value in zip(compiled.signature.items(), bound.values()):
            self._value(type, value, name, descriptors if compiled.descriptors else None, data)
        hidden = parameter_count - len(data)
        if not 0 <= hidden <= len(compiled.scratch):
            raise InvalidArgument(
                f"{compiled.name}: the PTX has {parameter_count} parameters, Triton's signature {len(data)}: this Triton is not known"
            )
        for size, align in compiled.scratch[:hidden]:
            address = 0
            if size:
                self.scratch.append(Array(self.borrowed.device, size * ctas, np.uint8, poisoned=True, name="scratch"))
                address = self.scratch[-1].address
                assert align <= 256
            data.append(struct.pack("<Q", address))
        return data

    def _value(self, type: Any, value: Any, name: str, descriptors: Any, data: list[bytes]) -> None:
        if isinstance(type, tuple):
            for each, part in zip(type, value):
                self._value(each, part, name, descriptors, data)
        elif type == "constexpr":
            return
        elif type.startswith("*"):
            data.append(struct.pack("<Q", value.address if isinstance(value, _Tensor) else int(value or 0)))
        elif type.startswith("tensordesc"):
            self._descriptor(value, next(descriptors) if descriptors else None, data)
        else:
            data.append(number(type, value, name))

    def _descriptor(self, value: Any, meta: Optional[dict[str, Any]], data: list[bytes]) -> None:
        """What Triton passes for a descriptor: the map, or a pointer with shape, strides, padding, rounding; then shape and strides again."""
        shape, strides = [int(v) for v in value.shape], [int(v) for v in value.strides]
        if meta is None:
            data.append(struct.pack("<Q", value.base.address))
            data += [struct.pack("<q", v) for v in (*shape, *strides)]
            data.append(struct.pack("<B", value.padding == "nan"))
            if _descriptors_round():
                data.append(struct.pack("<B", value.round_f32_to_tf32))
        else:
            if meta["fp4_padded"]:
                shape[-1] *= 2
            data.append(self._map(value, meta, shape, strides))
        data += [struct.pack("<i", v) for v in shape] + [struct.pack("<q", v) for v in strides]

    def _map(self, value: Any, meta: dict[str, Any], shape: list[int], strides: list[int]) -> bytes:
        # The driver's numbers for types are those of lemma_tensor_type; a kernel's own are others for f64 and bf16.
        type = 11 if value.round_f32_to_tf32 else {8: 10, 9: 8, 10: 9}.get(meta["elem_type"], meta["elem_type"])
        map = sized(
            _abi.lemma_tensor_map, address=value.base.address, rank=len(shape), type=type, swizzle=meta["swizzle"],
            oob_fill=int(value.padding == "nan"),
        )  # fmt: skip
        for i, (extent, box) in enumerate(zip(reversed(shape), reversed(list(meta["block_size"])))):
            map.dims[i], map.box[i] = extent, box
        for i, stride in enumerate(list(reversed(strides))[1:]):
            map.strides_bytes[i] = stride * meta["elem_size"]
        made = ctypes.create_string_buffer(BYTES)
        check(library.lemma_tensor_map_encode(self.borrowed.device._handle, ctypes.byref(map), made))
        return made.raw


def number(type: str, value: Any, name: str) -> bytes:
    """A scalar of a type that Triton names: "i32", "bf16". Error: InvalidArgument if it is of another kind, or does not fit."""

    def wrong(why: str) -> InvalidArgument:
        return InvalidArgument(f"argument {name} is {type}: {why}")

    if type in _INTEGERS:
        return scalar(type, _INTEGERS[type], "i", value, wrong)
    if type in _FLOATS:
        return scalar(type, _FLOATS[type], "f", float(value) if isinstance(value, int) else value, wrong)
    if type == "bf16":  # cut off, as Triton's launcher does
        return struct.pack("<f", value)[2:]
    raise wrong("a parameter of this type is not known")


def compile(kernel: Any, *arguments: Any, arch: str = "sm_90", **named: Any) -> Compiled:
    """Compiles a @triton.jit function for these arguments, as a call with them would, for any target. Runs nothing.

    Errors: InvalidArgument, and what Triton raises.
    """
    with Device("cpu") as device:
        prepared, function = _prepare(_Arguments(device), kernel, arguments, named)
        return _compile(function, prepared, arch)[0]


def _prepare(
    given: _Arguments, kernel: Any, arguments: Sequence[Any], named: dict[str, Any]
) -> tuple[tuple[list[Any], dict[str, Any]], Any]:
    """((the arguments by position, by name) as Triton wants them, the @triton.jit function)"""
    function, named = _unwrapped(kernel, arguments, named)
    positional = [given.prepared(value, f"argument {i}") for i, value in enumerate(arguments)]
    keyword = {name: given.prepared(value, name) for name, value in named.items()}
    given.borrowed.copy_in()
    return ([given.placed(v) for v in positional], {n: given.placed(v) for n, v in keyword.items()}), function


def run(
    kernel: Any,
    grid: Union[int, Sequence[int], Callable[[dict[str, Any]], Sequence[int]]],
    *arguments: Any,
    arch: Optional[str] = None,
    device: Optional[Device] = None,
    launch: Optional[dict[str, Any]] = None,
    **named: Any,
) -> Report:
    """Compiles a @triton.jit function by Triton for `arch` and runs it.

    kernel: also with @triton.heuristics, or with @triton.autotune, of which the first configuration is taken: there is nothing to measure.
    grid: of programs, up to three numbers, or a function of the arguments, as for kernel[grid].
    arguments, named: the kernel's, and Triton's options (num_warps, num_stages, num_ctas, enable_fp_fusion, ...), as in
    kernel[grid](...). numpy arrays, and tensors of the CPU with DLPack, are copied to the device and, if they may be written, back;
    lemma.Arrays stay there. Tensor descriptors that the host makes are lemma.triton.TensorDescriptor; those that the kernel makes
    (tl.make_tensor_descriptor) need nothing.
    arch: "sm_80", "sm_90", "sm_120", ...; left out, that of `device`, or sm_90. device: left out, a fresh virtual GPU.
    launch: options of the launch, dict(check=True, explore=8, async_="late"); lemma.Kernel lists them.

    Returns the lemma.Report. Errors: as a launch's; and what Triton raises.
    """
    own = Device("cpu") if device is None else None
    device = device or own
    assert device is not None
    arch = arch or (device.info.target if own is None else "sm_90")
    options = with_defaults(device.options | Options(launch or {}))
    given = _Arguments(device)
    try:
        prepared, function = _prepare(given, kernel, arguments, named)
        compiled, bound = _compile(function, prepared, arch)
        return _launch(compiled, bound, grid, given, device, options)
    finally:
        given.borrowed.free()
        if own:
            own.close()


def _launch(compiled: Compiled, bound: dict[str, Any], grid: Any, given: _Arguments, device: Device, options: Options) -> Report:
    programs = grid(bound) if callable(grid) else grid
    programs = (*programs, 1, 1)[:3] if hasattr(programs, "__len__") else (programs, 1, 1)
    ctas = tuple(int(p) * c for p, c in zip(programs, compiled.cluster))
    in_all = int(np.prod(ctas))
    loaded = device.load(compiled.ptx, name=f"{compiled.name}.{compiled.arch}.ptx")[compiled.name]
    config = configuration(ctas, compiled.threads, options | {
        "smem": compiled.shared_bytes, "cooperative": compiled.cooperative or options.get("cooperative"),
        "cluster": compiled.cluster if compiled.cluster != (1, 1, 1) else None,
    })  # fmt: skip
    data = given.encode(compiled, bound, len(loaded.parameters), in_all)
    return run_kernel(loaded, config, data, given.borrowed, given.arrays, options)

"""PyTorch's CUDA operators on the CPU, for a torch whose kernels have no PTX.

Each operator of `aten` that has a CUDA kernel gets another: its tensors come to the host by copies on the current stream, the CPU's
kernel computes, and what it wrote and made goes back by copies on the same stream. So the order of streams holds, and `lemma exec
--check` sees a read and a write of the tensors. While a graph is captured, the copies and the computation become nodes of it.
"""

from __future__ import annotations

import collections
import warnings
from typing import Any, Callable

import torch

from . import by_zero, composed, graphs, layouts, mirrors, precise, random

# Operators that need no kernel: views, allocations, and what torch does by copies of bytes itself.
_WITHOUT_A_KERNEL = frozenset(
    """
    alias as_strided empty.memory_format empty_strided is_coalesced is_pinned is_set_to pin_memory record_stream resize_ set_
    set_.source_Storage set_.source_Storage_storage_offset set_.source_Tensor set_data unfold view view.dtype view_as_complex
    view_as_real _efficientzerotensor _indices _local_scalar_dense _nested_view_from_buffer _pin_memory _reshape_alias
    _sparse_coo_tensor_with_dims _values
    """.split()
)
# Operators that a CUDA tensor reaches under another key than its own; and such that choose a library that is not there.
_MORE = (
    "copy_ _copy_from_and_resize _foreach_copy_ masked_fill.Scalar linspace convolution convolution_backward "
    "convolution_overrideable convolution_backward_overrideable"
).split()
# Where `training` is true, it moves these along, which its schema does not say.
_RUNNING = {name: ("running_mean", "running_var") for name in ("native_batch_norm", "native_batch_norm.out")}
# What is written, and not read before.
_ONLY_WRITTEN = frozenset("copy_ fill_.Scalar fill_.Tensor zero_ normal_ uniform_ random_ random_.from random_.to bernoulli_.float".split())

# What computes on the CPU in place of the CPU's own operator.
_ON_CPU = {**by_zero.OPERATORS, **precise.OPERATORS}

counts: collections.Counter[str] = collections.Counter()
_library: torch.library.Library | None = None
_strict = False


class OperatorWithoutPtx(NotImplementedError):
    """An operator that would run on the CPU, where that is forbidden."""


def _map(f: Callable[[Any], Any], value: Any) -> Any:
    """f of all that lists, tuples and dictionaries hold."""
    if isinstance(value, (list, tuple)):
        parts = [_map(f, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: _map(f, part) for key, part in value.items()}
    return f(value)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    _map(found.append, value)
    return found


def _is_cuda(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


class _Written:
    """Which arguments an operator writes, by its schema."""

    def __init__(self, schema: torch.FunctionSchema, name: str) -> None:
        self._running = [(i, a.name) for i, a in enumerate(schema.arguments) if a.name in _RUNNING.get(name, ())]
        self._training = next((i for i, a in enumerate(schema.arguments) if a.name == "training"), None)
        written = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        self.positions = [(i, a.name) for i, a in written if not a.kwarg_only]
        self.names = [a.name for _, a in written]
        self.out_names = [a.name for _, a in written if a.is_out]
        self.only_written = name in _ONLY_WRITTEN

    def tensors(self, args: tuple, kwargs: dict, names: list[str] | None = None) -> list[torch.Tensor]:
        chosen = [args[i] for i, name in self.positions if i < len(args) and (names is None or name in names)]
        chosen += [kwargs[name] for name in (self.names if names is None else names) if name in kwargs]
        if self._running and names is None and self._argument(args, kwargs, self._training, "training"):
            chosen += [self._argument(args, kwargs, i, name) for i, name in self._running]
        return [leaf for leaf in _leaves(chosen) if _is_cuda(leaf)]

    @staticmethod
    def _argument(args: tuple, kwargs: dict, position: int, name: str) -> Any:
        return args[position] if position < len(args) else kwargs.get(name)

    def unread(self, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        return self.tensors(args, kwargs, None if self.only_written else self.out_names)


class _Call:
    """One call: its arguments on the host, and the way back."""

    def __init__(self, operator: torch._ops.OpOverload, written: _Written, args: tuple, kwargs: dict) -> None:
        self._operator, self._on_cpu = operator, _ON_CPU.get(operator.name().removeprefix("aten::"), operator)
        leaves = _leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if _is_cuda(leaf)]
        devices = [leaf for leaf in leaves if isinstance(leaf, torch.device) and leaf.type == "cuda"]
        self.device = devices[0] if devices else tensors[0].device if tensors else torch.device("cuda", torch.cuda.current_device())
        self.stream = mirrors.stream_of(self.device)
        self._parts = parts = {id(tensor): layouts.parts(tensor) for tensor in tensors if layouts.is_composed(tensor)}
        dense = [part for tensor in tensors for part in parts.get(id(tensor), [tensor])]
        self._mirrors = mirrors.Mirrors(dense)
        self._hosts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # by id; the tensor, so that the id stays its own
        for tensor in dense + tensors:
            if id(tensor) in parts:
                made_of = [self._hosts[id(part)][1] for part in parts[id(tensor)]]
                self._hosts[id(tensor)] = (tensor, layouts.of_parts(tensor, made_of))
            elif id(tensor) not in self._hosts:
                self._hosts[id(tensor)] = (tensor, self._mirrors.mirror(tensor).of(tensor))
        self._args, self._kwargs = _map(self._to_host, args), _map(self._to_host, kwargs)
        self._new: list[tuple[torch.Tensor, torch.Tensor]] = []  # a result, and its bytes on the host
        self.written = written.tensors(args, kwargs)
        times = collections.Counter(id(tensor) for tensor in tensors)
        unread = {id(tensor) for tensor in written.unread(args, kwargs) if times[id(tensor)] == 1}  # out= may be an input too
        self._read = [tensor for tensor in dense if id(tensor) not in unread]

    def _to_host(self, value: Any) -> Any:
        if _is_cuda(value):
            return self._hosts[id(value)][1]
        if isinstance(value, torch.device) and value.type == "cuda":
            return torch.device("cpu")
        if isinstance(value, torch.Generator) and value.device.type == "cuda":
            return None
        return value

    def fetch(self) -> None:
        for tensor in self._read:
            self._mirrors.mirror(tensor).fill(tensor, self.stream)

    def compute(self) -> Any:
        arguments = {id(host) for _, host in self._hosts.values()}

        def plain(value: Any) -> Any:  # without a bit that says how its bytes are meant
            is_result = isinstance(value, torch.Tensor) and id(value) not in arguments
            return value.resolve_conj().resolve_neg() if is_result and value.layout == torch.strided else value

        return _map(plain, self._call())

    def _call(self) -> Any:
        try:
            return self._on_cpu(*self._args, **self._kwargs)
        except RuntimeError as error:
            if "not implemented for 'Half'" in str(error) or "not implemented for 'BFloat16'" in str(error):
                return precise.in_float32(self._operator)(*self._args, **self._kwargs)
            # Numbers may stand for tensors in calls from C++, but from Python in those of some operators alone.
            if "Expected a value of type 'Tensor' for argument" not in str(error):
                raise
        types = [argument.type for argument in self._operator._schema.arguments]
        args = [self._number(v) if isinstance(t, torch.TensorType) and isinstance(v, (bool, int, float, complex)) else v
                for t, v in zip(types, self._args)]  # fmt: skip
        return self._on_cpu(*args, **self._kwargs)

    def _number(self, value: Any) -> torch.Tensor:
        """As a tensor of the type that it takes on beside the other arguments."""
        types = [host.dtype for _, host in self._hosts.values()]
        alone = torch.tensor(value)
        keeps = [dtype for dtype in types if torch.result_type(torch.empty(1, dtype=dtype), value) == dtype]
        return alone.to(keeps[0]) if keeps else alone

    def store(self) -> None:
        """What the operator has written, also where it has given it another size."""
        for tensor in self.written:
            host = self._hosts[id(tensor)][1]
            if layouts.is_sparse(tensor):
                tensor.data = self._on_device(host)
            elif id(tensor) in self._parts:
                for part in self._parts[id(tensor)]:
                    self._mirrors.mirror(part).write_back(part, self.stream)
            elif tensor.size() == host.size() and tensor.stride() == host.stride():
                self._mirrors.mirror(tensor).write_back(tensor, self.stream)
            else:
                torch.ops.aten.resize_(tensor, host.size())
                self._new.append((tensor, host.contiguous()))

    def _on_device(self, host: torch.Tensor) -> torch.Tensor:
        """A new tensor, whose bytes copy_results() brings."""
        if layouts.is_composed(host):
            return layouts.of_parts(host, [self._on_device(part) for part in layouts.parts(host)])
        tensor = torch.empty_strided(host.size(), host.stride(), dtype=host.dtype, device=self.device)
        self._new.append((tensor, host))
        return tensor

    def results(self, values: Any) -> Any:
        """As the caller gets them: an argument's own tensor, or a new one."""

        def result(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
                return value
            own = [tensor for tensor, host in self._hosts.values() if host is value]
            return own[0] if own else self._on_device(value)

        return _map(result, values)

    def copy_results(self) -> None:
        for tensor, host in self._new:
            mirrors.to_device(host, tensor, self.stream)

    def blank(self) -> None:
        for _, host in self._hosts.values():
            if not layouts.is_composed(host):
                host.zero_()

    def compute_again(self, values: Any) -> None:
        """Into the results of the first time."""
        arguments = {id(host) for _, host in self._hosts.values()}
        for value, again in zip(_leaves(values), _leaves(self.compute())):
            if isinstance(value, torch.Tensor) and id(value) not in arguments:
                value.copy_(again)


class _OnCpu:
    """An operator, computed on the CPU."""

    def __init__(self, operator: torch._ops.OpOverload, name: str) -> None:
        self._operator, self._name, self._written = operator, name, _Written(operator._schema, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _strict:
            raise OperatorWithoutPtx(f"aten::{self._name} has no PTX in this torch, and --strict forbids that it runs on the CPU")
        counts[self._name] += 1
        return self.uncounted(*args, **kwargs)

    def uncounted(self, *args: Any, **kwargs: Any) -> Any:
        call = _Call(self._operator, self._written, args, kwargs)
        if torch.cuda.is_current_stream_capturing():
            return graphs.capture(call)
        call.fetch()
        mirrors.call("cudaStreamSynchronize", call.stream)
        values = call.compute()
        call.store()
        results = call.results(values)
        call.copy_results()
        return results


def _copy(copy_on_cpu: _OnCpu) -> Callable:
    """copy_() of equal bytes is a copy on the device; without a conversion it computes nothing."""

    def run(to: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        same = (
            _is_cuda(to) and _is_cuda(source) and to.dtype == source.dtype and to.size() == source.size()
            and to.stride() == source.stride() and torch.ops.aten.is_non_overlapping_and_dense(to)
            and to.is_conj() == source.is_conj() and to.is_neg() == source.is_neg()
        )  # fmt: skip
        if not same:
            return (copy_on_cpu.uncounted if to.dtype == source.dtype else copy_on_cpu)(to, source, non_blocking)
        if to.numel():
            mirrors.on_device(to, source, mirrors.stream_of(to.device))
        return to

    return run


def _zero(zero_on_cpu: _OnCpu) -> Callable:
    """zero_() of dense bytes is a memset."""

    def run(tensor: torch.Tensor) -> torch.Tensor:
        if not torch.ops.aten.is_non_overlapping_and_dense(tensor):
            return zero_on_cpu(tensor)
        if tensor.numel():
            count = tensor.numel() * tensor.element_size()
            mirrors.call("cudaMemsetAsync", tensor.data_ptr(), 0, count, mirrors.stream_of(tensor.device))
        return tensor

    return run


# What is made otherwise than on the CPU; each is given the way over the CPU, too.
_OTHERWISE: dict[str, Callable[[_OnCpu], Callable]] = {
    "copy_": _copy,
    "zero_": _zero,
    **{name: lambda _, other=other: other for name, other in {**random.OPERATORS, **composed.OPERATORS}.items()},
}


def _names() -> list[tuple[str, str]]:
    """Operators with a CUDA kernel, "add.Tensor", and the dispatch key that they have it under."""
    all_names = [name[6:] for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    has_function = torch._C._dispatch_has_kernel_for_dispatch_key
    found = [(n, "CUDA") for n in all_names if n not in _WITHOUT_A_KERNEL and has_function(f"aten::{n}", "CUDA")]
    found += [(n, key) for n in all_names for key in layouts.KEYS if layouts.has_a_kernel(n, key) and has_function(f"aten::{n}", key)]
    found.append(("copy_", "QuantizedCUDA"))
    return found + [(n, "CUDA") for n in _MORE if n in all_names and (n, "CUDA") not in found]


def install(strict: bool = False) -> None:
    """Has these operators computed on the CPU from now on, but for those that a program has replaced already. `strict`: such a call is
    an error instead."""
    global _library, _strict
    _strict = strict
    _library = torch.library.Library("aten", "IMPL")
    replaced = set(torch.library._impls)
    for name, key in _names():
        base, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if operator is None or f"aten/{name}/{key}" in replaced:  # None: one that Python does not see
            continue
        on_cpu = _OnCpu(operator, name)
        otherwise = _OTHERWISE.get(name) if key == "CUDA" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that kernels are overridden, which pytest may make an error
            _library.impl(name, otherwise(on_cpu) if otherwise else on_cpu, key, allow_override=True)
    # A program that replaces operators on CUDA (FlagGems does) may do so, as where torch's own are the ones to be replaced.
    torch.library._impls.clear()
    torch.library._impls.update(replaced)

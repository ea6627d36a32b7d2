"""Operators that a GPU computes in float32 and rounds once, where the CPU's kernels for 16 bits round on the way."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map_only

_SHORT = (torch.float16, torch.bfloat16)


def _long(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _SHORT else tensor


def _forward(operator: Callable) -> Callable:
    def run(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
        result = operator(_long(input), dim, False)
        return result if half_to_float else result.to(input.dtype)

    return run


def _backward(operator: Callable) -> Callable:
    def run(grad_output: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Tensor:
        grad_output, output = _long(grad_output), _long(output)
        return operator(grad_output, output, dim, output.dtype).to(input_dtype)

    return run


def _norm(operator: torch._ops.OpOverload) -> Callable:
    """A normalization in float32, whose mean and deviation stay so for the gradient."""

    def run(input: Tensor, *args: Any) -> Any:
        normal, *saved = operator(_long(input), *tree_map_only(Tensor, _long, args))
        return (normal.to(input.dtype), *saved)

    return run


def in_float32(operator: torch._ops.OpOverload) -> Callable:
    """The operator on its tensors of 16 bits as float32; what it writes and gives has the first one's type again."""
    written = [(i, a.name) for i, a in enumerate(operator._schema.arguments) if a.alias_info is not None and a.alias_info.is_write]

    def run(*args: Any, **kwargs: Any) -> Any:
        short = next((leaf.dtype for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor) and leaf.dtype in _SHORT), None)
        if short is None:
            return operator(*args, **kwargs)
        long_args, long_kwargs = tree_map_only(Tensor, _long, (args, kwargs))
        results = operator(*long_args, **long_kwargs)
        own = {}
        for i, name in written:
            argument, long = (args[i], long_args[i]) if i < len(args) else (kwargs.get(name), long_kwargs.get(name))
            if isinstance(argument, Tensor):
                own[id(long)] = argument if argument is long else argument.copy_(long)
        return tree_map_only(Tensor, lambda r: own.get(id(r), r.to(short) if r.dtype == torch.float32 else r), results)

    return run


# Of these the CPU's kernels lose more than the last bit of long sums and products in 16 bits.
_LOSE_BITS = (
    "_embedding_bag_backward _embedding_bag_dense_backward _index_put_impl_ _segment_reduce_backward _weight_norm_interface "
    "_weight_norm_interface_backward avg_pool2d_backward avg_pool3d_backward col2im embedding_dense_backward glu "
    "native_batch_norm_backward native_group_norm_backward native_layer_norm_backward nll_loss2d_forward nll_loss_forward "
    "prod prod.dim_int renorm segment_reduce unfold_backward upsample_bicubic2d"
).split()


def _operators(names: list[str]) -> dict[str, torch._ops.OpOverload]:
    found = ((name, getattr(torch.ops.aten, name.partition(".")[0], None)) for name in names)
    return {name: getattr(packet, name.partition(".")[2] or "default") for name, packet in found if packet is not None}


OPERATORS: dict[str, Callable] = {
    "native_batch_norm": _norm(torch.ops.aten.native_batch_norm.default),
    "native_layer_norm": _norm(torch.ops.aten.native_layer_norm.default),
    **{name: in_float32(operator) for name, operator in _operators(_LOSE_BITS).items()},
    "_log_softmax": _forward(torch.ops.aten._log_softmax.default),
    "_softmax": _forward(torch.ops.aten._softmax.default),
    "_log_softmax_backward_data": _backward(torch.ops.aten._log_softmax_backward_data.default),
    "_softmax_backward_data": _backward(torch.ops.aten._softmax_backward_data.default),
}

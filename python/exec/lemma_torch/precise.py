"""Operators that a GPU computes in float32 and rounds once, where the CPU's kernels for 16 bits round on the way."""

from __future__ import annotations

from typing import Callable

import torch
from torch import Tensor

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


OPERATORS: dict[str, Callable] = {
    "_log_softmax": _forward(torch.ops.aten._log_softmax.default),
    "_softmax": _forward(torch.ops.aten._softmax.default),
    "_log_softmax_backward_data": _backward(torch.ops.aten._log_softmax_backward_data.default),
    "_softmax_backward_data": _backward(torch.ops.aten._softmax_backward_data.default),
}

"""Operators that only CUDA has, composed of others."""

from __future__ import annotations

from typing import Callable, Optional

import torch
from torch import Tensor


def _plus(gates: Tensor, bias: Optional[Tensor]) -> Tensor:
    return gates if bias is None else gates + bias


def _lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    i, f, g, o = (_plus(input_gates, input_bias) + _plus(hidden_gates, hidden_bias)).chunk(4, 1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    cy = f * cx + i * g
    return o * torch.tanh(cy), cy, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    tanh = torch.tanh(cy)
    grad_c, grad_o = torch.zeros_like(cy) if grad_cy is None else grad_cy, torch.zeros_like(o)
    if grad_hy is not None:
        grad_c, grad_o = grad_c + grad_hy * o * (1 - tanh * tanh), grad_hy * tanh
    parts = grad_c * g * i * (1 - i), grad_c * cx * f * (1 - f), grad_c * i * (1 - g * g), grad_o * o * (1 - o)
    grad_gates = torch.cat(parts, 1)
    return grad_gates, grad_c * f, grad_gates.sum(0) if has_bias else None


def _gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    ir, iz, i_n = _plus(input_gates, input_bias).chunk(3, 1)
    hr, hz, hn = _plus(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)
    n = torch.tanh(i_n + r * hn)
    return n + z * (hx - n), torch.cat([r, z, n, hx, hn], 1)


def _gru_cell_backward(grad_hy, workspace, has_bias):
    r, z, n, hx, hn = workspace.chunk(5, 1)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_r = grad_n * hn * r * (1 - r)
    of_input, of_hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * z, *biases


def _rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    computed_in = torch.promote_types(input.dtype, torch.float32)
    inner = list(range(input.dim() - len(normalized_shape), input.dim()))
    grad, normal = grad_out.to(computed_in), input.to(computed_in) * rstd
    grad_weight = None
    if weight is not None and output_mask[1]:
        outer = list(range(inner[0]))
        grad_weight = ((grad * normal).sum(outer) if outer else grad * normal).to(weight.dtype)
    grad_input = None
    if output_mask[0]:
        scaled = grad if weight is None else grad * weight.to(computed_in)
        grad_input = (rstd * (scaled - normal * (scaled * normal).mean(inner, keepdim=True))).to(input.dtype)
    return grad_input, grad_weight


def _in_type(operator: Callable, matrices: int) -> Callable:
    """A product of 16-bit matrices, its sums in another type. `matrices`: how many arguments are."""

    def run(*args, out=None, **kwargs):
        dtype = args[matrices]
        product = operator(*[matrix.to(dtype) for matrix in args[:matrices]], *args[matrices + 1 :], **kwargs)
        return product if out is None else torch.ops.aten.resize_(out, product.size()).copy_(product)

    return run


_PRODUCTS = {"mm": (torch.mm, 2), "bmm": (torch.bmm, 2), "addmm": (torch.addmm, 3), "baddbmm": (torch.baddbmm, 3)}
OPERATORS: dict[str, Callable] = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
    "_fused_rms_norm_backward": _rms_norm_backward,
    **{f"{name}.{form}": _in_type(*how) for name, how in _PRODUCTS.items() for form in ("dtype", "dtype_out")},
    "_use_cudnn_ctc_loss": lambda *args: False,
    "_use_cudnn_ctc_loss.Tensor": lambda *args: False,
}

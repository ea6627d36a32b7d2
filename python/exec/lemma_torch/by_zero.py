"""Division of integers by zero, which the CPU refuses, and for which a GPU gives what its instructions do: all bits ones."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

_NAMES = (
    "div.Scalar_mode div.Tensor_mode div.out_mode div_.Scalar_mode div_.Tensor_mode floor_divide floor_divide.Scalar floor_divide.out "
    "floor_divide_.Scalar floor_divide_.Tensor fmod.Scalar fmod.Tensor fmod.Tensor_out fmod_.Scalar fmod_.Tensor remainder.Scalar "
    "remainder.Scalar_Tensor remainder.Tensor remainder.Tensor_out remainder_.Scalar remainder_.Tensor"
).split()


def _is_integer(value: Any) -> bool:
    return not (value.is_floating_point() or value.is_complex()) if isinstance(value, Tensor) else isinstance(value, int)


def _as_a_gpu(operator: torch._ops.OpOverload, rounds_down: Callable[[dict], bool]) -> Callable:
    def run(dividend: Any, divisor: Any, *args: Any, **kwargs: Any) -> Any:
        zeros = torch.as_tensor(divisor) == 0
        if not _is_integer(dividend) or not _is_integer(divisor) or not zeros.any():
            return operator(dividend, divisor, *args, **kwargs)
        is_negative = torch.as_tensor(dividend) < 0
        result = operator(dividend, divisor.masked_fill(zeros, 1) if isinstance(divisor, Tensor) else 1, *args, **kwargs)
        if _is_integer(result):
            quotient = torch.where(is_negative, -2, -1) if rounds_down(kwargs) else torch.tensor(-1)
            result.copy_(torch.where(zeros, quotient.to(result.dtype), result))
        return result

    return run


def _operator(name: str) -> Callable:
    packet, overload = name.partition(".")[::2]
    base = packet.removesuffix("_")
    rounds_down = (lambda kwargs: kwargs.get("rounding_mode") == "floor") if base == "div" else (lambda _: base == "floor_divide")
    return _as_a_gpu(getattr(getattr(torch.ops.aten, packet), overload or "default"), rounds_down)


OPERATORS: dict[str, Callable] = {name: _operator(name) for name in _NAMES}

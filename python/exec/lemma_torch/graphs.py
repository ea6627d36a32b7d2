"""An operator on the CPU as part of a CUDA graph: copies to the host, a host function, copies back."""

from __future__ import annotations

import ctypes
from typing import Any

from . import mirrors

_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_kept: list[Any] = []  # graphs may be launched as long as the process lives, and nothing tells when one is destroyed


def capture(call: Any) -> Any:
    """Makes nodes of the call on the stream that is captured. The operator runs once now, on zeros, to know how large its results
    are: one whose size depends on what tensors hold cannot be captured."""
    call.blank()
    values = call.compute()
    results = call.results(values)
    call.fetch()
    function = _HOST_FUNCTION(lambda _: call.compute_again(values))
    _kept.append(function)
    mirrors.call("cudaLaunchHostFunc", call.stream, ctypes.cast(function, ctypes.c_void_p), None)
    call.store()
    call.copy_results()
    return results

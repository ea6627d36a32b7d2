"""PyTorch on the virtual GPU. `lemma exec` imports this where torch is imported.

Wheels of torch hold machine code alone, and no PTX that Lemma could run. The operators of such a torch run on the CPU, in the order of
their streams; Triton kernels, CUDA extensions and all else that has PTX run on the virtual GPU.

    counts         how often each operator has run on the CPU
    OperatorWithoutPtx   what is raised in place of that where LEMMA_TORCH_STRICT=1
"""

from __future__ import annotations

import atexit
import os
import sys

import torch

from . import operators
from .operators import OperatorWithoutPtx, counts

__all__ = ["OperatorWithoutPtx", "counts"]


def _has_ptx() -> bool:
    """Whether the loaded torch has PTX of its own operators."""
    return "compute_" in (torch._C._cuda_getArchFlags() or "")


def _say_how_many() -> None:
    total = sum(counts.values())
    if total:
        most = ", ".join(f"{name} {count}" for name, count in counts.most_common(3))
        more = ", ..." if len(counts) > 3 else ""
        print(f"lemma: torch has no PTX of its operators: {total} calls ran on the CPU ({most}{more})", file=sys.stderr)


def _install() -> None:
    operators.install(strict=os.environ.get("LEMMA_TORCH_STRICT") == "1")
    # Libraries that are not there; what they would do, other operators do.
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    atexit.register(_say_how_many)


if torch.version.cuda is not None and not _has_ptx():
    torch.cuda._lazy_call(_install)  # when the GPU is used first: a process may never do so

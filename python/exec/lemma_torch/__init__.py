"""PyTorch on the virtual GPU. `lemma exec` imports this where torch is imported, and calls follow().

Wheels of torch hold machine code alone, and no PTX that Lemma could run. The operators of such a torch run on the CPU, in the order of
their streams; Triton kernels, CUDA extensions and all else that has PTX run on the virtual GPU. Nothing is done before the GPU is used
first: a process may never do so. With LEMMA_TORCH_STRICT=1 a call that would run on the CPU is an error.
"""

from __future__ import annotations

import atexit
import os
import sys

import torch


def _has_ptx() -> bool:
    """Whether the loaded torch has PTX of its own operators. Once this is asked, torch refuses the GPU to forked children."""
    return "compute_" in (torch._C._cuda_getArchFlags() or "")


def _install() -> None:
    if _has_ptx():
        return
    from . import operators

    operators.install(strict=os.environ.get("LEMMA_TORCH_STRICT") == "1")
    # Libraries that are not there; what they would do, other operators do. (torch.backends may have been frozen.)
    torch._C._set_cudnn_enabled(False)
    torch._C._set_sdp_use_flash(False)
    torch._C._set_sdp_use_mem_efficient(False)
    torch._C._set_sdp_use_cudnn(False)
    atexit.register(_say_how_many, operators.counts)


def _say_how_many(counts) -> None:
    total = sum(counts.values())
    if total:
        most = ", ".join(f"{name} {count}" for name, count in counts.most_common(3))
        more = ", ..." if len(counts) > 3 else ""
        print(f"lemma: torch has no PTX of its operators: {total} calls ran on the CPU ({most}{more})", file=sys.stderr)


def follow(torch_module) -> None:
    """What is called when torch has been imported."""
    import lemma_triton  # noqa: F401  its caches, which torch.compile uses too

    if torch_module.version.cuda is not None:
        torch_module.cuda._lazy_call(_install)

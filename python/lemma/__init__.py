"""Lemma runs, checks and compiles NVIDIA tensor-core programs on a virtual GPU, bit for bit, or on a real one.

    import lemma, numpy as np
    gpu = lemma.Device("cpu", arch="sm_90a", check=True)       # or "cuda"
    k = gpu.load("gemm.ptx")["gemm"]                           # or .mlir
    d = gpu.zeros((256, 256), np.float32)
    report = k[(2, 2), 384, dict(smem=196672, cluster=2)](lemma.TensorMap(a, box=(128, 64), swizzle=128), d, 8)

lemma.triton runs @triton.jit functions so. Errors are exceptions with the text that the command line prints: lemma.Error and its
kinds. docs/python.md has examples.
"""

from __future__ import annotations

from . import triton
from ._library import version as __version__
from .arguments import Struct, pointer, struct
from .device import Device, Kernel, Module, Variable
from .errors import (  # noqa: F401
    DeviceLost,
    Differs,
    Error,
    Fault,
    Findings,
    InternalError,
    InvalidArgument,
    KernelFailed,
    LaunchError,
    OutOfMemory,
    Rejected,
    Unavailable,
    Unsupported,
)
from .explore import Exploration, schedule_text
from ._isa import Table, isa, targets
from .launch import defaults, reports
from ._layout import Descriptor, Layout, TileLayout, descriptor, layout, tile
from .memory import Array
from .mlir import compile_mlir, run_mlir
from ._mma import bits_of, mma, mma_form
from ._occupancy import Occupancy, active_clusters, best_block_size, occupancy
from ._ptx import PtxText, link, ptx_of_image
from .report import Report, fidelity_text
from .stream import Event, Stream
from .tensor_map import TensorMap, tensor_map
from .types import numpy_type, pack, ptx_type, unpack
from ._verify import Verification, verify, verify_each

__all__ = [
    "Array", "Descriptor", "Device", "DeviceLost", "Differs", "Error", "Event", "Exploration", "Fault", "Findings", "InternalError", "InvalidArgument",
    "Kernel", "KernelFailed", "LaunchError", "Layout", "Module", "Occupancy", "OutOfMemory", "PtxText", "Rejected", "Report", "Stream", "Struct", "Table", "TensorMap", "TileLayout",
    "Unavailable", "Unsupported", "Variable", "Verification", "__version__", "active_clusters", "best_block_size", "bits_of", "compile_mlir", "defaults", "descriptor",
    "fidelity_text", "isa", "layout", "link",
    "mma", "mma_form", "numpy_type", "occupancy", "pack", "pointer", "ptx_of_image", "ptx_type", "reports", "run_mlir", "schedule_text", "struct", "targets",
    "tensor_map", "tile", "triton", "unpack", "verify", "verify_each",
]  # fmt: skip

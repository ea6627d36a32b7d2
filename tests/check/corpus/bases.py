"""The kernels that bugs are planted in, and how each is launched: small grids and inputs, each run a few milliseconds.

nvcc(...) is kernels/NAME.ptx, made of kernels/NAME.cu by scripts/compile_programs.sh; triton(...) a file of tests/triton/ptx.
"""

import json
import pathlib
import random
import struct
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
TRITON = FOLDER.parents[1] / "triton"


@dataclass
class Argument:
    """A --arg SPEC; FILE in it is a file of `data`, OUT one that may be written."""

    spec: str
    data: bytes = None


def ints(count, below=1 << 16, type="I"):
    """Numbers, each another than its neighbours with all but certainty, so that a race's writes differ."""
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}{type}", *(r.randrange(below) for _ in range(count))))


def changed(count, below=1 << 16):
    """Such numbers in memory that the kernel writes to."""
    return Argument("inout=FILE:OUT", ints(count, below).data)


def halves(count):
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}e", *(r.randrange(-4, 5) for _ in range(count))))


def floats(count):
    r = random.Random(count)
    return Argument("in=FILE", struct.pack(f"<{count}f", *(r.randrange(-64, 65) / 8 for _ in range(count))))


def out(size):
    """Zeroed memory."""
    return Argument(f"out=OUT:{size}")


def scratch(size):
    """Memory that nobody has written."""
    return Argument(f"buf={size}")


def value(number, type="s32"):
    return Argument(f"{type}={number}")


def tensor_map(argument, type, dims, box, swizzle="128B"):
    size = {"f16": 2, "f32": 4, "u32": 4}[type]
    pitch, strides = size, []
    for dim in dims[:-1]:
        pitch *= dim
        strides.append(pitch)
    rows = {
        "arg": argument, "type": {"u32": "u32", "f16": "f16", "f32": "f32"}[type], "dims": dims,
        "strides_bytes": strides, "box": box, "element_strides": [1] * len(dims), "interleave": "none",
        "swizzle": swizzle, "oob_fill": "zeros", "l2_promotion": "none",
    }  # fmt: skip
    return Argument("tmap=@FILE", json.dumps(rows).encode())


@dataclass
class Base:
    name: str
    ptx: pathlib.Path
    made_by: str
    grid: str
    block: str
    options: list
    args: list


bases = {}


def nvcc(name, grid, block, args, *options):
    bases[name] = Base(name, FOLDER / "kernels" / f"{name}.ptx", "nvcc", str(grid), str(block), list(options), args)


nvcc(
    "gemm_pipeline", "2,2", 64, [halves(64 * 96), halves(96 * 32), floats(32), out(64 * 32 * 4), value(32), value(96)]
)
nvcc(
    "gemm_tma", 1, 256,
    [tensor_map(4, "f16", [320, 64], [64, 64]), tensor_map(5, "f16", [320, 16], [64, 16]),
     tensor_map(6, "f32", [16, 64], [16, 64], "none"), value(5), halves(320 * 64), halves(320 * 16), out(64 * 16 * 4)],
    "--smem", "24640",
)  # fmt: skip
nvcc(
    "gemm_wgmma", 2, 128,
    [tensor_map(4, "f16", [320, 128], [64, 64]), tensor_map(5, "f16", [320, 16], [64, 16]), out(128 * 16 * 4), value(5),
     halves(320 * 128), halves(320 * 16)],
)  # fmt: skip
nvcc("ring_generic", 1, 64, [ints(32 * 13), out(4 * (32 * 13 + 8)), value(13)])
nvcc("ring_bulk", 2, 160, [ints(2 * 5 * 128), out(2 * 5 * 512), value(5)])
nvcc("reduce_last", 4, 64, [ints(777), scratch(16), out(4), out(4), value(777)])
nvcc("lookback", 6, 32, [ints(192), out(192 * 4), out(24), scratch(24), scratch(24)])
nvcc("message", 5, 64, [scratch(5 * 256), out(20), out(5 * 256)])
nvcc("cluster_exchange", 4, 32, [ints(128), out(512)])
nvcc("makers_takers", 1, 128, [ints(7 * 64), out(4 * (7 * 64 + 2)), value(7)])
nvcc("histogram_shared", 3, 64, [ints(500), out(64), out(4), value(500)])

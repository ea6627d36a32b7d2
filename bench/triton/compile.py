#!/usr/bin/env python3
"""Compiles kernels.py to ptx/*.ptx. Needs Triton, no GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install triton==3.5.1
    triton/bin/python bench/triton/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent.parent / "tests/triton"))

import to_ptx

import kernels

# Name, target, types of A, B and C, block, warps, stages. bench/gemm_triton.cc has the launches.
FILES = [
    ("matmul_f16", 80, "fp16", "fp32", (128, 128, 32), 4, 3),
    ("matmul_tf32", 80, "fp32", "fp32", (128, 128, 32), 8, 3),
    ("matmul_s8", 80, "i8", "i32", (128, 128, 64), 4, 3),
    ("matmul_f16", 90, "fp16", "fp32", (128, 128, 64), 4, 3),
]


def compile(sm, of_ab, of_c, block, warps, stages):
    types = dict(a="*" + of_ab, b="*" + of_ab, c="*" + of_c, m="i32", n="i32", k="i32")
    constants = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block))
    options = {"num_warps": warps, "num_stages": stages}
    ptx, meta = to_ptx.compile(kernels.matmul_kernel, types, constants, types, sm, options)
    return f"// Triton {to_ptx.VERSION}, bench/triton/kernels.py; {meta.shared} bytes of shared memory\n" + ptx


if __name__ == "__main__":
    sys.exit(to_ptx.main(__doc__, FOLDER, lambda: {f"ptx/{name}.sm_{sm}.ptx": compile(sm, *how) for name, sm, *how in FILES}))

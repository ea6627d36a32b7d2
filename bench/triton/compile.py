#!/usr/bin/env python3
"""Compiles kernels.py to ptx/*.ptx. Needs Triton, no GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install triton==3.5.1
    triton/bin/python bench/triton/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import os
import pathlib
import re
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of this machine in the files
os.environ["TRITON_ALWAYS_COMPILE"] = "1"

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

VERSION = "3.5.1"
FOLDER = pathlib.Path(__file__).resolve().parent
# Name, target, types of A, B and C, block, warps, stages. bench/triton.cc has the launches.
FILES = [
    ("matmul_f16", 80, "fp16", "fp32", (128, 128, 32), 4, 3),
    ("matmul_tf32", 80, "fp32", "fp32", (128, 128, 32), 8, 3),
    ("matmul_s8", 80, "i8", "i32", (128, 128, 64), 4, 3),
    ("matmul_f16", 90, "fp16", "fp32", (128, 128, 64), 4, 3),
]


def compile(sm, of_ab, of_c, block, warps, stages):
    names = [p.name for p in kernels.matmul_kernel.params]
    types = dict(a="*" + of_ab, b="*" + of_ab, c="*" + of_c, m="i32", n="i32", k="i32")
    signature = {p: types.get(p, "constexpr") for p in names}
    divisible = {(i,): [["tt.divisibility", 16]] for i, p in enumerate(names) if p in types}
    constants = {(names.index(p),): size for p, size in zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block)}
    done = triton.compile(
        ASTSource(kernels.matmul_kernel, signature, constants, divisible),
        target=GPUTarget("cuda", sm, 32),
        options={"num_warps": warps, "num_stages": stages},
    )
    ptx = re.sub(r"\n//[^\n]*", "", done.asm["ptx"]).strip() + "\n"
    return f"// Triton {VERSION}, bench/triton/kernels.py; {done.metadata.shared} bytes of shared memory\n" + ptx


def main():
    if triton.__version__ != VERSION:
        sys.exit(f"compile.py: Triton {VERSION} makes these files, this is {triton.__version__}")
    check, wrong = "--check" in sys.argv[1:], 0
    for name, sm, *how in FILES:
        path, text = FOLDER / f"ptx/{name}.sm_{sm}.ptx", compile(sm, *how)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong += 1
            print(f"{path.name}: not what Triton {VERSION} makes of kernels.py")
    print(f"{len(FILES)} files, {wrong} differ" if check else f"{len(FILES)} files written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

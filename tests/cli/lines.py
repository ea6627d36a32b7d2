"""A kernel of Triton with an inlined function, for what messages say of its lines. `lines.py` prints lines.ptx: see compile.sh."""

import pathlib
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def load_row(rows, index, n: tl.constexpr):
    return tl.load(rows + index * n + tl.arange(0, n))


@triton.jit
def row_sums(rows, sums, n: tl.constexpr):
    row = tl.program_id(0)
    total = tl.sum(load_row(rows, row, n))
    tl.store(sums + row, total)


if __name__ == "__main__":
    source = ASTSource(row_sums, {"rows": "*fp32", "sums": "*fp32", "n": "constexpr"}, {(2,): 64})
    ptx = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 1}).asm["ptx"]
    ptx = re.sub(r"(?m)^//[^\n]*\n", "", ptx)
    ptx = re.sub(r'"/[^"\n]*/site-packages/', '"site-packages/', ptx)
    sys.stdout.write(ptx.replace(f'"{pathlib.Path(__file__).resolve().parent}/', '"'))

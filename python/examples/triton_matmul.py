"""A matrix product in Triton, by tensor descriptors that the host makes (TMA on sm_90). Needs Triton, and no GPU.

77: there is no Triton.
"""

import sys

import numpy as np

import lemma

try:
    import triton
    import triton.language as tl
except ImportError:
    print("no Triton")
    sys.exit(77)


@triton.jit
def matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sum = tl.zeros((M, N), tl.float32)
    for at in range(0, k, K):
        sum = tl.dot(a.load([row, at]), b.load([at, column]), sum)
    c.store([row, column], sum)


r = np.random.RandomState(0)
a, b = r.randint(-8, 9, (128, 192)).astype(np.float16), r.randint(-8, 9, (192, 128)).astype(np.float16)
describe = lemma.triton.TensorDescriptor.from_tensor
for arch in ("sm_80", "sm_90", "sm_120"):
    c = np.zeros((128, 128), np.float32)
    report = lemma.triton.run(
        matmul, (2, 2), describe(a, [64, 64]), describe(b, [64, 64]), describe(c, [64, 64]), 192, M=64, N=64, K=64, arch=arch
    )
    print(f"{arch}: {report.stats.matrix_flops / 1e6:.1f} MFLOP on tensor cores")
    assert (c == a.astype(float) @ b.astype(float)).all()  # products of small integers are exact

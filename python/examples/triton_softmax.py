"""A softmax in Triton on numpy arrays, compiled by Triton for three GPUs. Needs Triton (pip install triton), and no GPU.

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
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


x = np.random.RandomState(0).standard_normal((16, 200)).astype(np.float32)
wanted = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
wanted /= wanted.sum(axis=1, keepdims=True)
for arch in ("sm_80", "sm_90", "sm_120"):
    out = np.zeros_like(x)
    lemma.triton.run(softmax, (16,), out, x, 200, 200, BLOCK=256, arch=arch, launch=dict(check=True))
    error = np.abs(out - wanted).max()
    print(f"{arch}: off by {error:.1e} at most")
    assert error < 1e-6

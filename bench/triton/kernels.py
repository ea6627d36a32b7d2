"""Matrix products as Triton's tutorial writes them, in the block sizes that its users choose on a GPU."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """C[m, n] = A[m, k] * B[k, n], row-major; C is s32 of s8, else f32 (of f32 by tf32). Sizes are multiples of the blocks."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_at = a + rows[:, None] * k + depth[None, :]
    b_at = b + depth[:, None] * n + columns[None, :]
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=c.dtype.element_ty)
    for _ in range(0, k, BLOCK_K):
        sum = tl.dot(tl.load(a_at), tl.load(b_at), sum, input_precision="tf32", out_dtype=c.dtype.element_ty)
        a_at += BLOCK_K
        b_at += BLOCK_K * n
    tl.store(c + rows[:, None] * n + columns[None, :], sum)

"""The Triton kernels for sm_100 whose PTX is tested: products by tcgen05, and what Triton's users write around them.

Only compile.py reads this file, and only it needs Triton. cases.py says how a kernel is launched and what must come out.
"""

from dataclasses import dataclass, field

import triton
import triton.language as tl


@dataclass
class Variant:
    """One compilation. `signature`: parameter -> Triton type; `constants`: constexpr parameters."""

    kernel: object
    signature: dict
    constants: dict
    num_warps: int = 4
    num_stages: int = 3
    options: dict = field(default_factory=dict)


@triton.jit
def matmul_kernel(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    a_at = a + rows[:, None] * k + depth[None, :]
    b_at = b + columns[None, :] * k + depth[:, None]
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a_tile = tl.load(a_at, mask=(rows[:, None] < m) & (depth[None, :] < left), other=0.0)
        b_tile = tl.load(b_at, mask=(depth[:, None] < left) & (columns[None, :] < n), other=0.0)
        sum = tl.dot(a_tile, b_tile, sum, input_precision=PRECISION)
        a_at += BLOCK_K
        b_at += BLOCK_K
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sum, mask=mask)


@triton.jit
def matmul_scaled_kernel(
    a, scale_a, b, scale_b, c, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, FORMAT: tl.constexpr, SCALED: tl.constexpr,
):  # fmt: skip
    PACKED: tl.constexpr = 2 if FORMAT == "e2m1" else 1
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K // PACKED)
    blocks = tl.arange(0, BLOCK_K // SCALED)
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    a_at = a + rows[:, None] * (k // PACKED) + depth[None, :]
    b_at = b + columns[None, :] * (k // PACKED) + depth[:, None]
    scale_a_at = scale_a + rows[:, None] * (k // SCALED) + blocks[None, :]
    scale_b_at = scale_b + columns[:, None] * (k // SCALED) + blocks[None, :]
    for step in range(0, k // BLOCK_K):
        sum = tl.dot_scaled(
            tl.load(a_at), tl.load(scale_a_at), FORMAT, tl.load(b_at), tl.load(scale_b_at), FORMAT, sum
        )
        a_at += BLOCK_K // PACKED
        b_at += BLOCK_K // PACKED
        scale_a_at += BLOCK_K // SCALED
        scale_b_at += BLOCK_K // SCALED
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@triton.jit
def matmul_persistent_kernel(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPECIALIZED: tl.constexpr
):
    a_tensor = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_tensor = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BLOCK_N, BLOCK_K])
    c_tensor = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    across = tl.cdiv(n, BLOCK_N)
    tiles = tl.cdiv(m, BLOCK_M) * across
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True, warp_specialize=SPECIALIZED):
        row, column = tile // across * BLOCK_M, tile % across * BLOCK_N
        sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, BLOCK_K)):
            a_tile, b_tile = a_tensor.load([row, step * BLOCK_K]), b_tensor.load([column, step * BLOCK_K])
            sum = tl.dot(a_tile, b_tile.T, sum)
        c_tensor.store([row, column], sum.to(tl.float16))


@triton.jit
def attention_kernel(
    q, k, v, out, scale, heads, length, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
    SPECIALIZED: tl.constexpr,
):  # fmt: skip
    whole = heads * length
    q_tensor = tl.make_tensor_descriptor(q, shape=[whole, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD])
    k_tensor = tl.make_tensor_descriptor(k, shape=[whole, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD])
    v_tensor = tl.make_tensor_descriptor(v, shape=[whole, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD])
    out_tensor = tl.make_tensor_descriptor(out, shape=[whole, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD])
    first = tl.program_id(1) * length
    row = first + tl.program_id(0) * BLOCK_M
    q_tile = q_tensor.load([row, 0])
    most = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    sum = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    for begin in tl.range(0, length, BLOCK_N, warp_specialize=SPECIALIZED):
        scores = tl.dot(q_tile, k_tensor.load([first + begin, 0]).T)
        higher = tl.maximum(most, tl.max(scores, 1) * scale)
        powers = tl.math.exp2(scores * scale - higher[:, None])
        factor = tl.math.exp2(most - higher)
        total = total * factor + tl.sum(powers, 1)
        v_tile = v_tensor.load([first + begin, 0])
        sum = tl.dot(powers.to(tl.float16), v_tile, sum * factor[:, None])
        most = higher
    out_tensor.store([row, 0], (sum / total[:, None]).to(tl.float16))


def matmul(type, block_k, precision="ieee", blocks=(128, 64), **options):
    return Variant(
        matmul_kernel,
        {"a": "*" + type, "b": "*" + type, "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
        {"BLOCK_M": blocks[0], "BLOCK_N": blocks[1], "BLOCK_K": block_k, "PRECISION": precision},
        **options,
    )


def matmul_scaled(type, scale_type, format, block_k, scaled):
    return Variant(
        matmul_scaled_kernel,
        {"a": "*" + type, "scale_a": "*" + scale_type, "b": "*" + type, "scale_b": "*" + scale_type, "c": "*fp32",
         "m": "i32", "n": "i32", "k": "i32"},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": block_k, "FORMAT": format, "SCALED": scaled},
    )  # fmt: skip


def persistent(specialized, **options):
    return Variant(
        matmul_persistent_kernel,
        {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "SPECIALIZED": specialized},
        **options,
    )


def attention(specialized, **options):
    return Variant(
        attention_kernel,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "scale": "fp32", "heads": "i32", "length": "i32"},
        {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD": 64, "SPECIALIZED": specialized},
        **options,
    )


VARIANTS = {
    "matmul_f16": matmul("fp16", 64),
    "matmul_f16_m64": matmul("fp16", 64, blocks=(64, 64)),
    "matmul_bf16": matmul("bf16", 64, num_warps=8),
    "matmul_tf32": matmul("fp32", 32, "tf32"),
    "matmul_e4m3": matmul("fp8e4nv", 128),
    "matmul_e5m2": matmul("fp8e5", 128),
    "matmul_mxfp8": matmul_scaled("fp8e4nv", "u8", "e4m3", 128, 32),
    "matmul_mxfp4": matmul_scaled("u8", "u8", "e2m1", 128, 32),
    "matmul_nvfp4": matmul_scaled("u8", "fp8e4nv", "e2m1", 128, 16),
    "matmul_persistent": persistent(False),
    "matmul_persistent_specialized": persistent(True),
    "matmul_persistent_cluster": persistent(True, options={"num_ctas": 2}),
    "attention": attention(False),
    "attention_specialized": attention(True),
}

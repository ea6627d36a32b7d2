"""The Triton kernels whose PTX is tested, and the variants that are compiled of each.

Only compile.py reads this file, and only it needs Triton. cases.py says how a kernel is launched and what must come
out. The kernels are written as Triton's users write them: a matrix product with a software pipeline, the same through
tensor descriptors made on the device, softmax, layer norm forward and backward, flash attention, random numbers and
every function of tl.math.
"""

from dataclasses import dataclass, replace

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@dataclass
class Variant:
    """One compilation. `signature`: parameter -> Triton type; `constants`: constexpr parameters."""

    kernel: object
    signature: dict
    constants: dict
    num_warps: int = 4
    num_stages: int = 3
    fusion: bool = False  # may ptxas fuse multiplications and additions?
    targets: tuple = (80, 90, 120)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    a_at = a + rows[:, None] * k + depth[None, :]
    b_at = b + depth[:, None] * n + columns[None, :]
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a_tile = tl.load(a_at, mask=(rows[:, None] < m) & (depth[None, :] < left), other=0.0)
        b_tile = tl.load(b_at, mask=(depth[:, None] < left) & (columns[None, :] < n), other=0.0)
        sum = tl.dot(a_tile, b_tile, sum)
        a_at += BLOCK_K
        b_at += BLOCK_K * n
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sum, mask=mask)


@triton.jit
def matmul_descriptor_kernel(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    a_tensor = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_tensor = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[BLOCK_K, BLOCK_N])
    c_tensor = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    sum = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for at in range(0, k, BLOCK_K):
        sum = tl.dot(a_tensor.load([row, at]), b_tensor.load([at, column]), sum)
    c_tensor.store([row, column], sum)


@triton.jit
def softmax_kernel(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm_forward_kernel(x, y, w, b, mean, rstd, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
    average = tl.sum(total, axis=0) / columns
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
        value = tl.where(at < columns, value - average, 0.0)
        total += value * value
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / columns + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        mask = at < columns
        value = (tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - average) * scale
        value = value * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask)
        tl.store(y + at, value, mask=mask)


@triton.jit
def layer_norm_backward_kernel(dx, dy, dw, x, w, mean, rstd, locks, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * stride + at, mask=mask, other=0).to(tl.float32)
    slope = tl.load(dy + row * stride + at, mask=mask, other=0).to(tl.float32)
    weight = tl.load(w + at, mask=mask).to(tl.float32)
    average = tl.load(mean + row)
    scale = tl.load(rstd + row)
    normal = tl.where(mask, (value - average) * scale, 0.0)
    weighted = tl.where(mask, weight * slope, 0.0)
    c1 = tl.sum(normal * weighted, axis=0) / columns
    c2 = tl.sum(weighted, axis=0) / columns
    tl.store(dx + row * stride + at, (weighted - (normal * c1 + c2)) * scale, mask=mask)
    # The rows add to the weights' gradient in turn: integers, so that no order shows.
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    partial = tl.load(dw + at, mask=mask, other=0) + (slope * 16).to(tl.int32)
    tl.store(dw + at, partial, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(locks, 0)


@triton.jit
def attention_kernel(
    q, k, v, out, log_sums, scale, length,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    depth = tl.arange(0, HEAD)
    q_tile = tl.load(q + head + rows[:, None] * HEAD + depth[None, :])
    most = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    sum = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    end = (tl.program_id(0) + 1) * BLOCK_M if CAUSAL else length
    for begin in range(0, end, BLOCK_N):
        at = begin + columns
        k_tile = tl.load(k + head + at[None, :] * HEAD + depth[:, None])
        scores = tl.dot(q_tile, k_tile) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= at[None, :], scores, -1.0e6)
        higher = tl.maximum(most, tl.max(scores, 1))
        powers = tl.math.exp2(scores - higher[:, None])
        factor = tl.math.exp2(most - higher)
        total = total * factor + tl.sum(powers, 1)
        v_tile = tl.load(v + head + at[:, None] * HEAD + depth[None, :])
        sum = tl.dot(powers.to(v_tile.dtype), v_tile, sum * factor[:, None])
        most = higher
    tl.store(log_sums + tl.program_id(1) * length + rows, most + tl.math.log2(total))
    tl.store(out + head + rows[:, None] * HEAD + depth[None, :], (sum / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def random_kernel(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at))


@triton.jit
def math_f32_kernel(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.exp(v))
    tl.store(out + count + at, tl.exp2(v))
    tl.store(out + 2 * count + at, tl.log(v))
    tl.store(out + 3 * count + at, tl.log2(v))
    tl.store(out + 4 * count + at, tl.sin(v))
    tl.store(out + 5 * count + at, tl.cos(v))
    tl.store(out + 6 * count + at, tl.sqrt(v))
    tl.store(out + 7 * count + at, tl.rsqrt(v))
    tl.store(out + 8 * count + at, tl.sqrt_rn(v))
    tl.store(out + 9 * count + at, tl.erf(v))
    tl.store(out + 10 * count + at, tl.floor(v) + tl.ceil(v))
    tl.store(out + 11 * count + at, tl.abs(v))
    tl.store(out + 12 * count + at, tl.sigmoid(v))
    other = tl.load(x + (count - 1 - at))
    tl.store(out + 13 * count + at, v / other)
    tl.store(out + 14 * count + at, tl.fdiv(v, other))
    tl.store(out + 15 * count + at, tl.div_rn(v, other))
    tl.store(out + 16 * count + at, tl.fma(v, other, v))
    tl.store(out + 17 * count + at, libdevice.tanh(v))
    tl.store(out + 18 * count + at, libdevice.fast_expf(v))
    tl.store(out + 19 * count + at, libdevice.fast_logf(v))
    tl.store(out + 20 * count + at, libdevice.fast_sinf(v))
    tl.store(out + 21 * count + at, libdevice.fast_cosf(v))
    tl.store(out + 22 * count + at, libdevice.fast_dividef(v, other))
    tl.store(out + 23 * count + at, libdevice.pow(v, other))
    tl.store(out + 24 * count + at, libdevice.log1p(v))
    tl.store(out + 25 * count + at, libdevice.expm1(v))


@triton.jit
def math_f64_kernel(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.exp(v))
    tl.store(out + count + at, tl.exp2(v))
    tl.store(out + 2 * count + at, tl.log(v))
    tl.store(out + 3 * count + at, tl.log2(v))
    tl.store(out + 4 * count + at, tl.sin(v))
    tl.store(out + 5 * count + at, tl.cos(v))
    tl.store(out + 6 * count + at, tl.sqrt(v))
    tl.store(out + 7 * count + at, tl.rsqrt(v))
    tl.store(out + 8 * count + at, tl.erf(v))
    other = tl.load(x + (count - 1 - at))
    tl.store(out + 9 * count + at, v / other)
    tl.store(out + 10 * count + at, tl.fma(v, other, v))
    tl.store(out + 11 * count + at, libdevice.tanh(v))


def pointers(type, *names):
    return {name: "*" + type for name in names}


def integers(*names):
    return {name: "i32" for name in names}


MATMUL = {**pointers("fp16", "a", "b"), **pointers("fp32", "c"), **integers("m", "n", "k")}
ATTENTION = {
    **pointers("fp16", "q", "k", "v", "out"),
    **pointers("fp32", "log_sums"),
    "scale": "fp32",
    "length": "i32",
}
ATTENTION_BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 64, "HEAD": 64}

VARIANTS = {
    "matmul": Variant(matmul_kernel, MATMUL, {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}),
    "matmul_descriptor": Variant(
        matmul_descriptor_kernel, MATMUL, {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    ),
    "softmax": Variant(
        softmax_kernel, {**pointers("fp32", "out", "x"), **integers("stride", "columns")}, {"BLOCK": 256}
    ),
    "layer_norm_forward": Variant(
        layer_norm_forward_kernel,
        {**pointers("fp16", "x", "y", "w", "b"), **pointers("fp32", "mean", "rstd"),
         **integers("stride", "columns"), "eps": "fp32"},
        {"BLOCK": 128},
    ),
    "layer_norm_backward": Variant(
        layer_norm_backward_kernel,
        {**pointers("fp16", "dx", "dy"), **pointers("i32", "dw"), **pointers("fp16", "x", "w"),
         **pointers("fp32", "mean", "rstd"), **pointers("i32", "locks"), **integers("stride", "columns")},
        {"BLOCK": 256},
    ),
    "attention": Variant(attention_kernel, ATTENTION, {**ATTENTION_BLOCKS, "CAUSAL": False}),
    "attention_causal": Variant(attention_kernel, ATTENTION, {**ATTENTION_BLOCKS, "CAUSAL": True}),
    "random_normal": Variant(
        random_kernel, {**pointers("fp32", "out"), "seed": "i32"}, {"BLOCK": 256}, targets=(90,)
    ),
    "math_f32": Variant(
        math_f32_kernel, {**pointers("fp32", "x", "out"), **integers("count")}, {"BLOCK": 128}, targets=(90,)
    ),
    "math_f64": Variant(
        math_f64_kernel, {**pointers("fp64", "x", "out"), **integers("count")}, {"BLOCK": 128}, targets=(90,)
    ),
}
# As Triton compiles them if nobody asks: LLVM has made fma of multiplications and additions, and ptxas may make more.
FUSED = (
    "softmax layer_norm_forward layer_norm_backward attention random_normal math_f32 math_f64"
).split()
VARIANTS |= {f"{name}_fused": replace(VARIANTS[name], fusion=True, targets=(90,)) for name in FUSED}

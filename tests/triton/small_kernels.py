"""Small Triton kernels of many kinds, for `--check`: what a framework's or a tutorial's users write, at sizes that run in milliseconds.

As kernels.py, and compiled by the same compile.py; small_cases.py says how they are launched and what must come out.
"""

from dataclasses import replace

import triton
import triton.language as tl

from kernels import Variant, integers, pointers

VARIANTS = {}


def small(pointer_types, ints="", floats="", targets=(80, 90), num_warps=4, num_stages=2, **constants):
    """Compiles the kernel below it: "type: names; type: names" of pointers, names of integers and of f32."""
    signature = {}
    for part in pointer_types.split(";"):
        type, names = part.split(":")
        signature.update(pointers(type.strip(), *names.split()))
    signature.update(integers(*ints.split()))
    signature.update({name: "fp32" for name in floats.split()})

    def add(function):
        order = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        signature_in_order = {name: signature[name] for name in order if name in signature}
        VARIANTS[function.__name__.removesuffix("_kernel")] = Variant(
            triton.jit(function), signature_in_order, constants, num_warps, num_stages, targets=targets
        )
        return VARIANTS[function.__name__.removesuffix("_kernel")].kernel

    return add


# ---- element by element


@small("fp32: x y out", "count", B=128)
def add_kernel(x, y, out, count, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@small("fp32: x y out", "count", B=128)
def gelu_mul_kernel(x, y, out, count, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < count
    v = tl.load(x + at, mask=mask)
    gate = 0.5 * v * (1 + tl.erf(v * 0.7071067811865476))
    tl.store(out + at, gate * tl.load(y + at, mask=mask), mask=mask)


@small("fp16: x out", "half", B=64)
def swiglu_kernel(x, out, half, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    a = tl.load(x + row * 2 * half + at, mask=at < half).to(tl.float32)
    b = tl.load(x + row * 2 * half + half + at, mask=at < half).to(tl.float32)
    tl.store(out + row * half + at, (a * tl.sigmoid(a) * b).to(tl.float16), mask=at < half)


@small("fp32: p g m v", floats="rate beta1 beta2 eps", B=128)
def adam_kernel(p, g, m, v, rate, beta1, beta2, eps, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    slope = tl.load(g + at)
    first = beta1 * tl.load(m + at) + (1 - beta1) * slope
    second = beta2 * tl.load(v + at) + (1 - beta2) * slope * slope
    tl.store(m + at, first)
    tl.store(v + at, second)
    tl.store(p + at, tl.load(p + at) - rate * first / (tl.sqrt(second) + eps))


@small("fp32: x out; i32: kept", "seed", floats="p", B=128)
def dropout_kernel(x, out, kept, seed, p, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, at) > p
    tl.store(kept + at, keep.to(tl.int32))
    tl.store(out + at, tl.where(keep, tl.load(x + at) / (1 - p), 0.0))


@small("fp32: x out; fp32: cosines sines", "depth", B=32)
def rope_kernel(x, out, cosines, sines, depth, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    c, s = tl.load(cosines + row * B + at), tl.load(sines + row * B + at)
    a, b = tl.load(x + row * depth + at), tl.load(x + row * depth + B + at)
    tl.store(out + row * depth + at, a * c - b * s)
    tl.store(out + row * depth + B + at, b * c + a * s)


@small("i32: x y out", B=128)
def bits_kernel(x, y, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    mixed = (a ^ (b << 3)) & 0x7FFFFFFF | (a & b)
    tl.store(out + at, tl.where(a > b, mixed, a % (b + 1) + tl.minimum(a, 9)))


# ---- rows: reductions


@small("fp32: x out", "columns", B=256)
def row_sum_kernel(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + at, mask=at < columns, other=0.0), axis=0))


@small("i32: x out", M=32, N=32)
def column_sum_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * (2 * N) + columns[None, :])
    tl.store(out + columns, tl.sum(tile, axis=0))


@small("fp32: x values; i32: places", "columns", B=256)
def row_argmax_kernel(x, values, places, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    value, place = tl.max(v, axis=0, return_indices=True)
    tl.store(values + row, value)
    tl.store(places + row, place)


@small("i32: x out", M=64, N=32)
def column_argmin_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + tl.arange(0, N), tl.argmin(tile, axis=0))


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    return mean_a + delta * count_b / count, m2_a + m2_b + delta * delta * count_a * count_b / count, count


@small("fp32: x means variances", B=128)
def welford_kernel(x, means, variances, B: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * B + tl.arange(0, B))
    mean, m2, count = tl.reduce((v, tl.zeros_like(v), tl.full([B], 1.0, tl.float32)), 0, welford)
    tl.store(means + row, mean)
    tl.store(variances + row, m2 / count)


@small("i32: x out", B=256)
def xor_sum_kernel(x, out, B: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.xor_sum(tl.load(x + row * B + tl.arange(0, B)), axis=0))


@small("fp32: x out; i8: q", "columns", B=128)
def quantize_kernel(x, q, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    scale = tl.max(tl.abs(v), axis=0) / 127.0
    tl.store(out + row, scale)
    rounded = tl.floor(v / scale + 0.5)
    tl.store(q + row * columns + at, rounded.to(tl.int8), mask=at < columns)


@small("i8: q; fp32: scales; fp16: out", B=128)
def dequantize_kernel(q, scales, out, B: tl.constexpr):
    row = tl.program_id(0)
    at = row * B + tl.arange(0, B)
    tl.store(out + at, (tl.load(q + at).to(tl.float32) * tl.load(scales + row)).to(tl.float16))


# ---- rows: softmax, norms, losses


@small("fp32: x out", "columns", B=64)
def online_softmax_kernel(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    most = -float("inf")
    total = 0.0
    for begin in range(0, columns, B):
        at = begin + tl.arange(0, B)
        v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        higher = tl.maximum(most, tl.max(v, axis=0))
        total = total * tl.exp(most - higher) + tl.sum(tl.exp(v - higher), axis=0)
        most = higher
    for begin in range(0, columns, B):
        at = begin + tl.arange(0, B)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
        tl.store(out + row * columns + at, tl.exp(v - most) / total, mask=at < columns)


@small("fp32: x out", "columns", B=256)
def log_softmax_kernel(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    tl.store(out + row * columns + at, v - tl.log(tl.sum(tl.exp(v), axis=0)), mask=at < columns)


@small("fp32: y dy dx", B=128)
def softmax_backward_kernel(y, dy, dx, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    p, slope = tl.load(y + at), tl.load(dy + at)
    tl.store(dx + at, p * (slope - tl.sum(p * slope, axis=0)))


@small("fp32: x out", ROWS=4, B=64)
def softmax_rows_kernel(x, out, ROWS: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at)
    powers = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(out + at, powers / tl.sum(powers, axis=1)[:, None])


@small("fp16: x w out", "columns", floats="eps", B=128)
def rms_norm_kernel(x, w, out, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / columns + eps)
    tl.store(
        out + row * columns + at, (v * scale * tl.load(w + at, mask=at < columns)).to(tl.float16), mask=at < columns
    )


@small("fp32: x residual w b out", "columns", floats="eps", B=256)
def add_layer_norm_kernel(x, residual, w, b, out, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0) + tl.load(
        residual + row * columns + at, mask=mask, other=0.0
    )
    tl.store(residual + row * columns + at, v, mask=mask)
    centred = tl.where(mask, v - tl.sum(v, axis=0) / columns, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(
        out + row * columns + at, centred * scale * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask), mask=mask
    )


@small("fp32: x out", floats="eps", G=8, N=32)
def group_norm_kernel(x, out, eps, G: tl.constexpr, N: tl.constexpr):
    at = tl.program_id(0) * G * N + tl.arange(0, G)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    centred = v - (tl.sum(v, axis=1) / N)[:, None]
    variance = tl.sum(centred * centred, axis=1) / N
    tl.store(out + at, centred / tl.sqrt(variance + eps)[:, None])


@small("fp32: logits losses slopes; i32: labels", "classes", B=128)
def cross_entropy_kernel(logits, labels, losses, slopes, classes, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < classes
    v = tl.load(logits + row * classes + at, mask=mask, other=-float("inf"))
    label = tl.load(labels + row)
    most = tl.max(v, axis=0)
    powers = tl.exp(v - most)
    total = tl.sum(powers, axis=0)
    tl.store(losses + row, tl.log(total) + most - tl.sum(tl.where(at == label, v, 0.0), axis=0))
    tl.store(slopes + row * classes + at, powers / total - tl.where(at == label, 1.0, 0.0), mask=mask)


@small("fp32: p q out", B=128)
def kl_divergence_kernel(p, q, out, B: tl.constexpr):
    row = tl.program_id(0)
    at = row * B + tl.arange(0, B)
    a, b = tl.load(p + at), tl.load(q + at)
    tl.store(out + row, tl.sum(a * (tl.log(a) - tl.log(b)), axis=0))


# ---- gathers, scatters, atomics


@small("fp32: table out; i32: ids", "depth", B=64)
def embedding_kernel(table, ids, out, depth, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    tl.store(
        out + row * depth + at, tl.load(table + tl.load(ids + row) * depth + at, mask=at < depth), mask=at < depth
    )


@small("i32: dy dtable ids", B=64)
def embedding_backward_kernel(dy, ids, dtable, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    tl.atomic_add(dtable + tl.load(ids + row) * B + at, tl.load(dy + row * B + at))


@small("i32: x bins", "count", B=256)
def bincount_kernel(x, bins, count, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(bins + tl.load(x + at, mask=at < count, other=0), 1, mask=at < count)


@small("i32: x out", B=256, N=32)
def histogram_kernel(x, out, B: tl.constexpr, N: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)), N)
    tl.atomic_add(out + tl.arange(0, N), counts)


@small("i32: x most least", B=128)
def atomic_extremes_kernel(x, most, least, B: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
    tl.atomic_max(most, tl.max(v, axis=0))
    tl.atomic_min(least, tl.min(v, axis=0))


@small("i32: x partial ticket out", "programs", B=128, P=8)
def last_program_sum_kernel(x, partial, ticket, out, programs, B: tl.constexpr, P: tl.constexpr):
    me = tl.program_id(0)
    tl.store(partial + me, tl.sum(tl.load(x + me * B + tl.arange(0, B)), axis=0))
    tl.debug_barrier()
    if tl.atomic_add(ticket, 1, sem="acq_rel") == programs - 1:
        at = tl.arange(0, P)
        tl.store(out, tl.sum(tl.load(partial + at, mask=at < programs, other=0, volatile=True), axis=0))


@small("i32: x out", B=128)
def flip_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.flip(tl.load(x + at), 0))


@small("i32: x places out", M=16, N=32)
def gather_kernel(x, places, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(places + at), axis=1))


@small("i32: x y out", B=128)
def interleave_kernel(x, y, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    both = tl.interleave(tl.load(x + at), tl.load(y + at))
    tl.store(out + 2 * tl.program_id(0) * B + tl.arange(0, 2 * B), both)


# ---- scans, sorts


@small("i32: x out", B=256)
def cumsum_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@small("i32: x out", M=32, N=32)
def cumsum_columns_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0, reverse=True))


@triton.jit
def step(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@small("fp32: a b out", B=128)
def recurrence_kernel(a, b, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    _, states = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, step)
    tl.store(out + at, states)


@small("i32: x out", B=128)
def sort_kernel(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@small("i32: x out", B=64, K=8)
def topk_kernel(x, out, B: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * B + tl.arange(0, B)), K))


# ---- tiles


@small("fp16: x out", "m n", B=32)
def transpose_kernel(x, out, m, n, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * m + rows[None, :], tl.trans(tile))


@small("fp32: x out", "width", B=16)
def max_pool_kernel(x, out, width, B: tl.constexpr):
    y, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + 2 * y * width + 2 * at)
    v = tl.maximum(v, tl.load(x + 2 * y * width + 2 * at + 1))
    v = tl.maximum(v, tl.load(x + (2 * y + 1) * width + 2 * at))
    tl.store(out + y * B + at, tl.maximum(v, tl.load(x + (2 * y + 1) * width + 2 * at + 1)))


@small("fp32: x w out", "length", B=64, TAPS=4)
def causal_conv1d_kernel(x, w, out, length, B: tl.constexpr, TAPS: tl.constexpr):
    channel = tl.program_id(0)
    at = tl.program_id(1) * B + tl.arange(0, B)
    sum = tl.zeros([B], tl.float32)
    for tap in tl.static_range(TAPS):
        before = at - (TAPS - 1) + tap
        sum += tl.load(x + channel * length + before, mask=before >= 0, other=0.0) * tl.load(w + channel * TAPS + tap)
    tl.store(out + channel * length + at, sum)


# ---- products


@triton.jit
def product(a, b, k, am, bk, rows, columns, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    sum = tl.zeros((M, N), dtype=tl.float32)
    depth = tl.arange(0, K)
    for at in range(0, k, K):
        x = tl.load(a + rows[:, None] * am + at + depth[None, :])
        y = tl.load(b + (at + depth)[:, None] * bk + columns[None, :])
        sum = tl.dot(x, y, sum)
    return sum


@small("fp16: a b; fp32: bias c", "n k", M=32, N=32, K=32)
def matmul_bias_relu_kernel(a, b, bias, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    sum = product(a, b, k, k, n, rows, columns, K, M, N) + tl.load(bias + columns)[None, :]
    tl.store(c + rows[:, None] * n + columns[None, :], tl.maximum(sum, 0.0))


@small("bf16: a b; fp32: c", "n k", M=32, N=32, K=32)
def matmul_bt_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        x = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        y = tl.load(b + columns[:, None] * k + (at + depth)[None, :])
        sum = tl.dot(x, tl.trans(y), sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("i8: a b; i32: c", "n k", M=32, N=32, K=32)
def matmul_int8_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sum = tl.zeros((M, N), dtype=tl.int32)
    for at in range(0, k, K):
        x = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        y = tl.load(b + (at + depth)[:, None] * n + columns[None, :])
        sum = tl.dot(x, y, sum, out_dtype=tl.int32)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp8e5: a b; fp32: c", "n k", M=64, N=32, K=32, targets=(90,))
def matmul_fp8_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    sum = product(a, b, k, k, n, rows, columns, K, M, N)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp32: a b c", "n k", M=32, N=32, K=16)
def matmul_tf32_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    sum = product(a, b, k, k, n, rows, columns, K, M, N)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp32: a b c", "n k", M=16, N=16, K=16)
def matmul_ieee_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        x = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        y = tl.load(b + (at + depth)[:, None] * n + columns[None, :])
        sum = tl.dot(x, y, sum, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp16: a b; fp32: c", "m n k programs", M=32, N=32, K=32, num_stages=3)
def matmul_persistent_kernel(a, b, c, m, n, k, programs, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    across = n // N
    for tile in range(tl.program_id(0), m // M * across, programs):
        rows, columns = tile // across * M + tl.arange(0, M), tile % across * N + tl.arange(0, N)
        sum = product(a, b, k, k, n, rows, columns, K, M, N)
        tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp16: a b; fp32: c; i32: begins", "n k", M=16, N=32, K=32)
def grouped_matmul_kernel(a, b, c, begins, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    group = tl.program_id(0)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    end = tl.load(begins + group + 1)
    for row in range(tl.load(begins + group), end, M):
        rows = row + tl.arange(0, M)
        sum = tl.zeros((M, N), dtype=tl.float32)
        for at in range(0, k, K):
            depth = at + tl.arange(0, K)
            x = tl.load(a + rows[:, None] * k + depth[None, :], mask=rows[:, None] < end, other=0.0)
            y = tl.load(b + group * k * n + depth[:, None] * n + columns[None, :])
            sum = tl.dot(x, y, sum)
        tl.store(c + rows[:, None] * n + columns[None, :], sum, mask=rows[:, None] < end)


@small("fp16: a b; fp32: c", "n k part", M=32, N=32, K=16)
def matmul_split_k_kernel(a, b, c, n, k, part, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    begin = tl.program_id(1) * part
    sum = product(a + begin, b + begin * n, part, k, n, rows, columns, K, M, N)
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], sum)


@small("fp16: a b; fp32: c", "n k", M=16, N=16, K=16, num_warps=1)
def matmul_batched_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.program_id(1)
    rows, columns = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    sum = product(a + batch * M * k, b + batch * k * n, k, k, n, rows, columns, K, M, N)
    tl.store(c + batch * M * n + rows[:, None] * n + columns[None, :], sum)


@small("i8: packed; fp16: a; fp32: c", "n k", M=16, N=32, K=32)
def matmul_int4_kernel(a, packed, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        pair = tl.load(packed + ((at + depth) // 2)[:, None] * n + columns[None, :]).to(tl.int32) & 0xFF
        weight = ((pair >> (depth % 2 * 4)[:, None]) & 0xF) - 8
        x = tl.load(a + rows[:, None] * k + (at + depth)[None, :])
        sum = tl.dot(x, weight.to(tl.float16), sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)


@small("fp32: m x y", "columns", R=8, B=64)
def gemv_kernel(m, x, y, columns, R: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    sum = tl.zeros([R], tl.float32)
    for begin in range(0, columns, B):
        at = begin + tl.arange(0, B)
        sum += tl.sum(tl.load(m + rows[:, None] * columns + at[None, :]) * tl.load(x + at)[None, :], axis=1)
    tl.store(y + rows, sum)


@small("fp16: x w; fp32: out", "width", C=16, N=16, P=16)
def conv2d_kernel(x, w, out, width, C: tl.constexpr, N: tl.constexpr, P: tl.constexpr):
    """3x3, as a product for each tap: x is HWC with a border, w is 3x3xCxN, a program makes P pixels of a row."""
    y, pixels = tl.program_id(0), tl.arange(0, P)
    channels, filters = tl.arange(0, C), tl.arange(0, N)
    sum = tl.zeros((P, N), dtype=tl.float32)
    for tap in range(9):
        place = (y + tap // 3) * width + tap % 3 + pixels
        image = tl.load(x + place[:, None] * C + channels[None, :])
        sum = tl.dot(image, tl.load(w + tap * C * N + channels[:, None] * N + filters[None, :]), sum)
    tl.store(out + (y * P + pixels)[:, None] * N + filters[None, :], sum)


# ---- attention


@small("fp32: q k v out", "length", floats="scale", B=32, D=32)
def attention_decode_kernel(q, k, v, out, length, scale, B: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    depth = tl.arange(0, D)
    query = tl.load(q + head * D + depth)
    most = -float("inf")
    total = 0.0
    sum = tl.zeros([D], tl.float32)
    for begin in range(0, length, B):
        at = (head * length + begin + tl.arange(0, B))[:, None] * D + depth[None, :]
        scores = tl.sum(tl.load(k + at) * query[None, :], axis=1) * scale
        higher = tl.maximum(most, tl.max(scores, axis=0))
        powers = tl.exp(scores - higher)
        factor = tl.exp(most - higher)
        total = total * factor + tl.sum(powers, axis=0)
        sum = sum * factor + tl.sum(tl.load(v + at) * powers[:, None], axis=0)
        most = higher
    tl.store(out + head * D + depth, sum / total)


@small("fp16: q k v; fp32: out", "length", floats="scale", M=32, B=32, D=32)
def attention_window_kernel(q, k, v, out, length, scale, M: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    """Each query sees the 32 keys up to its own."""
    rows, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    tile = tl.load(q + rows[:, None] * D + depth[None, :])
    most = tl.full([M], -1.0e30, tl.float32)
    total = tl.zeros([M], tl.float32)
    sum = tl.zeros([M, D], tl.float32)
    for begin in range(tl.maximum(tl.program_id(0) - 1, 0) * M, (tl.program_id(0) + 1) * M, B):
        at = begin + tl.arange(0, B)
        keys = tl.load(k + at[None, :] * D + depth[:, None])
        scores = tl.dot(tile, keys) * scale
        seen = (at[None, :] <= rows[:, None]) & (at[None, :] > rows[:, None] - 32)
        scores = tl.where(seen, scores, -1.0e30)
        higher = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.where(seen, tl.exp(scores - higher[:, None]), 0.0)
        factor = tl.exp(most - higher)
        total = total * factor + tl.sum(powers, axis=1)
        sum = tl.dot(powers.to(tl.float16), tl.load(v + at[:, None] * D + depth[None, :]), sum * factor[:, None])
        most = higher
    tl.store(out + rows[:, None] * D + depth[None, :], sum / total[:, None])


@small("fp16: q k v; fp32: out", "length", floats="scale", M=64, B=32, D=32, targets=(90,))
def attention_descriptor_kernel(q, k, v, out, length, scale, M: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    qs = tl.make_tensor_descriptor(q, shape=[length, D], strides=[D, 1], block_shape=[M, D])
    ks = tl.make_tensor_descriptor(k, shape=[length, D], strides=[D, 1], block_shape=[B, D])
    vs = tl.make_tensor_descriptor(v, shape=[length, D], strides=[D, 1], block_shape=[B, D])
    outs = tl.make_tensor_descriptor(out, shape=[length, D], strides=[D, 1], block_shape=[M, D])
    row = tl.program_id(0) * M
    tile = qs.load([row, 0])
    most = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    sum = tl.zeros([M, D], tl.float32)
    for begin in range(0, length, B):
        scores = tl.dot(tile, ks.load([begin, 0]).T) * scale
        higher = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.exp(scores - higher[:, None])
        factor = tl.exp(most - higher)
        total = total * factor + tl.sum(powers, axis=1)
        sum = tl.dot(powers.to(tl.float16), vs.load([begin, 0]), sum * factor[:, None])
        most = higher
    outs.store([row, 0], sum / total[:, None])


# ---- tensor descriptors


@small("fp32: x out", "m n", B=32, targets=(90,))
def descriptor_copy_kernel(x, out, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    target = tl.make_tensor_descriptor(out, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    target.store(at, source.load(at) * 2)


@small("i32: x out", "m n", B=32, targets=(90,))
def descriptor_sum_kernel(x, out, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    sum = tl.zeros([B, B], tl.int32)
    for begin in range(0, n, B):
        sum += source.load([tl.program_id(0) * B, begin])
    tl.store(out + tl.program_id(0) * B + tl.arange(0, B), tl.sum(sum, axis=1))


@small("i32: x out", "m n", B=32, targets=(90,))
def descriptor_reduce_kernel(x, out, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    target = tl.make_tensor_descriptor(out, shape=[B, n], strides=[n, 1], block_shape=[B, B])
    target.atomic_add([0, tl.program_id(1) * B], source.load([tl.program_id(0) * B, tl.program_id(1) * B]))


# For sm_120 too: one or two of each kind.
SM_120 = (
    "add gelu_mul swiglu dropout softmax_rows log_softmax rms_norm welford row_sum row_argmax cumsum sort topk transpose gather"
    " histogram cross_entropy matmul_batched matmul_int8 matmul_tf32 attention_decode"
).split()
VARIANTS |= {name: replace(VARIANTS[name], targets=(80, 90, 120)) for name in SM_120}

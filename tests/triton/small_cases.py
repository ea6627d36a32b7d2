"""How each kernel of small_kernels.py is launched, and what must come out: as cases.py, which takes these in.

Integers, and products of small ones, are compared bit for bit; the rest within the bound that the case states.
"""

import math

import numpy as np


def make(common):
    """kernel -> function that makes its case. `common`: what cases.py is made of: Case, Close, In, InOut, Out, i32, f32, rng."""
    Case, Close, In, InOut, Out, i32, f32, rng = (
        common[name] for name in "Case Close In InOut Out i32 f32 rng".split()
    )
    cases = {}

    def case(function):
        cases[function.__name__] = function
        return function

    def numbers(seed, *shape):
        return rng(seed).standard_normal(shape).astype(np.float32)

    def wholes(seed, low, high, *shape):
        return rng(seed).randint(low, high, shape).astype(np.int32)

    def near(value, absolute=1e-5, relative=1e-5, type=np.float32):
        return Close(np.asarray(value).astype(type), absolute, relative)

    def erf(x):
        return np.vectorize(math.erf)(x)

    def softmax(x):
        powers = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    # ---- element by element

    @case
    def add():
        x, y = wholes(1, -999, 999, 300).astype(np.float32), wholes(2, -999, 999, 300).astype(np.float32)
        return Case((3,), {"x": In(x), "y": In(y), "out": Out(x + y), "count": i32(300)})

    @case
    def gelu_mul():
        x, y = numbers(1, 300), numbers(2, 300)
        want = 0.5 * x * (1 + erf(x.astype(np.float64) / math.sqrt(2))) * y
        return Case((3,), {"x": In(x), "y": In(y), "out": near(want), "count": i32(300)})

    @case
    def swiglu():
        x = numbers(1, 4, 96).astype(np.float16)
        a, b = x[:, :48].astype(np.float64), x[:, 48:].astype(np.float64)
        return Case(
            (4,), {"x": In(x), "out": near(a / (1 + np.exp(-a)) * b, 1e-3, 1e-3, np.float16), "half": i32(48)}
        )

    @case
    def adam():
        p, g, m, v = numbers(1, 256), numbers(2, 256), numbers(3, 256), numbers(4, 256) ** 2
        first, second = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        new = p - 0.01 * first / (np.sqrt(second) + 1e-6)
        args = {"p": (p, new), "g": None, "m": (m, first), "v": (v, second)}
        args = {name: In(g) if pair is None else inout(*pair) for name, pair in args.items()}
        return Case((2,), {**args, "rate": f32(0.01), "beta1": f32(0.9), "beta2": f32(0.99), "eps": f32(1e-6)})

    def inout(before, after, absolute=1e-5, relative=1e-4):
        """An argument that is read and written, compared within a bound."""
        return Close(np.asarray(after).astype(before.dtype), absolute, relative, array=before)

    @case
    def dropout():
        x = numbers(1, 256)
        words = common["philox"](7, np.arange(256))[0]
        keep = common["to_unit"](words) > 0.25
        args = {"x": In(x), "out": near(np.where(keep, x / 0.75, 0)), "kept": Out(keep.astype(np.int32))}
        return Case((2,), {**args, "seed": i32(7), "p": f32(0.25)})

    @case
    def rope():
        x, angles = numbers(1, 6, 64), numbers(2, 6, 32)
        c, s = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        a, b = x[:, :32], x[:, 32:]
        want = np.concatenate([a * c - b * s, b * c + a * s], axis=1)
        return Case((6,), {"x": In(x), "out": near(want), "cosines": In(c), "sines": In(s), "depth": i32(64)})

    @case
    def bits():
        x, y = wholes(1, 0, 1 << 20, 256), wholes(2, 0, 1 << 20, 256)
        mixed = ((x ^ (y << 3)) & 0x7FFFFFFF) | (x & y)
        return Case(
            (2,), {"x": In(x), "y": In(y), "out": Out(np.where(x > y, mixed, x % (y + 1) + np.minimum(x, 9)))}
        )

    # ---- rows: reductions

    @case
    def row_sum():
        x = wholes(1, -99, 99, 4, 200).astype(np.float32)
        return Case((4,), {"x": In(x), "out": Out(x.sum(axis=1)), "columns": i32(200)})

    @case
    def column_sum():
        x = wholes(1, -99, 99, 32, 64)
        return Case((2,), {"x": In(x), "out": Out(x.sum(axis=0, dtype=np.int32))})

    @case
    def row_argmax():
        x = numbers(1, 4, 200)
        args = {"x": In(x), "values": Out(x.max(axis=1)), "places": Out(x.argmax(axis=1).astype(np.int32))}
        return Case((4,), {**args, "columns": i32(200)})

    @case
    def column_argmin():
        x = wholes(1, 0, 1 << 20, 64, 32)
        return Case((1,), {"x": In(x), "out": Out(x.argmin(axis=0).astype(np.int32))})

    @case
    def welford():
        x = numbers(1, 4, 128)
        return Case((4,), {"x": In(x), "means": near(x.mean(axis=1)), "variances": near(x.var(axis=1))})

    @case
    def xor_sum():
        x = wholes(1, 0, 1 << 30, 4, 256)
        return Case((4,), {"x": In(x), "out": Out(np.bitwise_xor.reduce(x, axis=1))})

    @case
    def quantize():
        x = numbers(1, 4, 112)
        scale = np.abs(x).max(axis=1) / np.float32(127)
        q = np.floor(x / scale[:, None] + np.float32(0.5))
        args = {"x": In(x), "q": near(q, 1, 0, np.int8), "out": near(scale), "columns": i32(112)}
        return Case((4,), args)

    @case
    def dequantize():
        q, scales = wholes(1, -127, 128, 4, 128).astype(np.int8), numbers(2, 4)
        want = near(q * scales[:, None], 1e-3, 1e-3, np.float16)
        return Case((4,), {"q": In(q), "scales": In(scales), "out": want})

    # ---- rows: softmax, norms, losses

    @case
    def online_softmax():
        x = 3 * numbers(1, 4, 200)
        return Case((4,), {"x": In(x), "out": near(softmax(x)), "columns": i32(200)})

    @case
    def log_softmax():
        x = 3 * numbers(1, 4, 200)
        return Case((4,), {"x": In(x), "out": near(np.log(softmax(x)), 1e-4), "columns": i32(200)})

    @case
    def softmax_backward():
        y, dy = softmax(numbers(1, 4, 128)).astype(np.float32), numbers(2, 4, 128)
        return Case((4,), {"y": In(y), "dy": In(dy), "dx": near(y * (dy - (y * dy).sum(axis=1, keepdims=True)))})

    @case
    def softmax_rows():
        x = numbers(1, 8, 64)
        return Case((2,), {"x": In(x), "out": near(softmax(x))})

    @case
    def rms_norm():
        x, w = numbers(1, 4, 112).astype(np.float16), numbers(2, 112).astype(np.float16)
        wide = x.astype(np.float64)
        want = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-5) * w
        args = {"x": In(x), "w": In(w), "out": near(want, 2e-3, 2e-3, np.float16), "columns": i32(112)}
        return Case((4,), {**args, "eps": f32(1e-5)})

    @case
    def add_layer_norm():
        x, r, w, b = numbers(1, 4, 200), numbers(2, 4, 200), numbers(3, 200), numbers(4, 200)
        v = (x + r).astype(np.float64)
        want = (v - v.mean(axis=1, keepdims=True)) / np.sqrt(v.var(axis=1, keepdims=True) + 1e-5) * w + b
        args = {"x": In(x), "residual": InOut(r, x + r), "w": In(w), "b": In(b), "out": near(want, 1e-4)}
        return Case((4,), {**args, "columns": i32(200), "eps": f32(1e-5)})

    @case
    def group_norm():
        x = numbers(1, 2, 8, 32)
        want = (x - x.mean(axis=2, keepdims=True)) / np.sqrt(x.var(axis=2, keepdims=True) + 1e-5)
        return Case((2,), {"x": In(x), "out": near(want, 1e-4), "eps": f32(1e-5)})

    @case
    def cross_entropy():
        x, labels = 2 * numbers(1, 4, 100), wholes(2, 0, 100, 4)
        powers = softmax(x)
        slopes = powers.copy()
        slopes[np.arange(4), labels] -= 1
        args = {"logits": In(x), "labels": In(labels), "losses": near(-np.log(powers[np.arange(4), labels]))}
        return Case((4,), {**args, "slopes": near(slopes), "classes": i32(100)})

    @case
    def kl_divergence():
        p, q = softmax(numbers(1, 4, 128)).astype(np.float32), softmax(numbers(2, 4, 128)).astype(np.float32)
        return Case((4,), {"p": In(p), "q": In(q), "out": near((p * np.log(p / q)).sum(axis=1), 1e-4)})

    # ---- gathers, scatters, atomics

    @case
    def embedding():
        table, ids = numbers(1, 10, 48), wholes(2, 0, 10, 6)
        return Case((6,), {"table": In(table), "ids": In(ids), "out": Out(table[ids]), "depth": i32(48)})

    @case
    def embedding_backward():
        dy, ids = wholes(1, -99, 99, 6, 64), wholes(2, 0, 4, 6)
        want = np.zeros((4, 64), np.int32)
        np.add.at(want, ids, dy)
        return Case((6,), {"dy": In(dy), "ids": In(ids), "dtable": InOut(np.zeros_like(want), want)})

    @case
    def bincount():
        x = wholes(1, 0, 16, 700)
        want = np.bincount(x, minlength=16).astype(np.int32)
        return Case((3,), {"x": In(x), "bins": InOut(np.zeros_like(want), want), "count": i32(700)})

    @case
    def histogram():
        x = wholes(1, 0, 32, 512)
        want = np.bincount(x, minlength=32).astype(np.int32)
        return Case((2,), {"x": In(x), "out": InOut(np.zeros_like(want), want)})

    @case
    def atomic_extremes():
        x = wholes(1, -9999, 9999, 384)
        most, least = np.array([x.max()], np.int32), np.array([x.min()], np.int32)
        return Case((3,), {"x": In(x), "most": InOut(most * 0, most), "least": InOut(least * 0, least)})

    @case
    def last_program_sum():
        x = wholes(1, -9999, 9999, 640)
        partial, zero = x.reshape(5, 128).sum(axis=1, dtype=np.int32), np.zeros(1, np.int32)
        args = {"x": In(x), "partial": Out(partial), "ticket": InOut(zero, zero + 5)}
        return Case((5,), {**args, "out": Out(partial.sum(dtype=np.int32, keepdims=True)), "programs": i32(5)})

    @case
    def flip():
        x = wholes(1, 0, 1 << 30, 2, 128)
        return Case((2,), {"x": In(x), "out": Out(x[:, ::-1])})

    @case
    def gather():
        x, places = wholes(1, 0, 1 << 30, 16, 32), wholes(2, 0, 32, 16, 32)
        return Case((1,), {"x": In(x), "places": In(places), "out": Out(np.take_along_axis(x, places, axis=1))})

    @case
    def interleave():
        x, y = wholes(1, 0, 1 << 30, 256), wholes(2, 0, 1 << 30, 256)
        return Case((2,), {"x": In(x), "y": In(y), "out": Out(np.stack([x, y], axis=1))})

    # ---- scans, sorts

    @case
    def cumsum():
        x = wholes(1, -99, 99, 2, 256)
        return Case((2,), {"x": In(x), "out": Out(x.cumsum(axis=1, dtype=np.int32))})

    @case
    def cumsum_columns():
        x = wholes(1, -99, 99, 32, 32)
        return Case((1,), {"x": In(x), "out": Out(x[::-1].cumsum(axis=0, dtype=np.int32)[::-1])})

    @case
    def recurrence():
        a, b = rng(1).uniform(0.5, 1, (2, 128)).astype(np.float32), numbers(2, 2, 128)
        states, state = np.zeros((2, 128)), np.zeros(2)
        for i in range(128):
            state = a[:, i] * state + b[:, i]
            states[:, i] = state
        return Case((2,), {"a": In(a), "b": In(b), "out": near(states, 1e-4)})

    @case
    def sort():
        x = wholes(1, -9999, 9999, 2, 128)
        return Case((2,), {"x": In(x), "out": Out(np.sort(x, axis=1))})

    @case
    def topk():
        x = wholes(1, -9999, 9999, 3, 64)
        return Case((3,), {"x": In(x), "out": Out(np.sort(x, axis=1)[:, ::-1][:, :8])})

    # ---- tiles

    @case
    def transpose():
        x = numbers(1, 64, 96).astype(np.float16)
        return Case((2, 3), {"x": In(x), "out": Out(x.T), "m": i32(64), "n": i32(96)})

    @case
    def max_pool():
        x = numbers(1, 8, 32)
        return Case((4,), {"x": In(x), "out": Out(x.reshape(4, 2, 16, 2).max(axis=(1, 3))), "width": i32(32)})

    @case
    def causal_conv1d():
        x, w = wholes(1, -9, 9, 2, 128).astype(np.float32), wholes(2, -9, 9, 2, 4).astype(np.float32)
        padded = np.pad(x, ((0, 0), (3, 0)))
        want = sum(padded[:, tap : tap + 128] * w[:, tap : tap + 1] for tap in range(4))
        return Case((2, 2), {"x": In(x), "w": In(w), "out": Out(want), "length": i32(128)})

    # ---- products of small integers, which are exact

    def factors(m, n, k, type=np.float16, batch=()):
        a, b = rng(1).randint(-4, 5, (*batch, m, k)), rng(2).randint(-4, 5, (*batch, k, n))
        return a.astype(type), b.astype(type), (a @ b).astype(np.float32)

    def bf16(x):
        return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)

    def e5m2(x):
        return (np.ascontiguousarray(x, np.float16).view(np.uint16) >> 8).astype(np.uint8)

    @case
    def matmul_bias_relu():
        a, b, c = factors(64, 64, 64)
        bias = wholes(3, -50, 50, 64).astype(np.float32)
        args = {"a": In(a), "b": In(b), "bias": In(bias), "c": Out(np.maximum(c + bias, 0))}
        return Case((2, 2), {**args, "n": i32(64), "k": i32(64)})

    @case
    def matmul_bt():
        a, b, c = factors(64, 32, 64, np.float32)
        return Case((2, 1), {"a": In(bf16(a)), "b": In(bf16(b.T)), "c": Out(c), "n": i32(32), "k": i32(64)})

    @case
    def matmul_int8():
        a, b, c = factors(64, 32, 64, np.int8)
        return Case((2, 1), {"a": In(a), "b": In(b), "c": Out(c.astype(np.int32)), "n": i32(32), "k": i32(64)})

    @case
    def matmul_fp8():
        a, b, c = factors(64, 32, 64)
        return Case((1, 1), {"a": In(e5m2(a)), "b": In(e5m2(b)), "c": Out(c), "n": i32(32), "k": i32(64)})

    @case
    def matmul_tf32():
        a, b, c = factors(32, 64, 48, np.float32)
        return Case((1, 2), {"a": In(a), "b": In(b), "c": Out(c), "n": i32(64), "k": i32(48)})

    @case
    def matmul_ieee():
        a, b, c = factors(32, 16, 48, np.float32)
        return Case((2, 1), {"a": In(a), "b": In(b), "c": Out(c), "n": i32(16), "k": i32(48)})

    @case
    def matmul_persistent():
        a, b, c = factors(64, 96, 96)
        args = {"a": In(a), "b": In(b), "c": Out(c), "m": i32(64), "n": i32(96), "k": i32(96)}
        return Case((2,), {**args, "programs": i32(2)})

    @case
    def grouped_matmul():
        begins = np.array([0, 20, 20, 48], np.int32)
        a, _, _ = factors(48, 32, 64)
        b = rng(4).randint(-4, 5, (3, 64, 32))
        parts = [a[begins[g] : begins[g + 1]].astype(np.int64) @ b[g] for g in range(3)]
        args = {"a": In(a), "b": In(b.astype(np.float16)), "c": Out(np.concatenate(parts).astype(np.float32))}
        return Case((3, 1), {**args, "begins": In(begins), "n": i32(32), "k": i32(64)})

    @case
    def matmul_split_k():
        a, b, c = factors(32, 64, 96)
        args = {"a": In(a), "b": In(b), "c": InOut(np.zeros_like(c), c), "n": i32(64), "k": i32(96)}
        return Case((2, 3), {**args, "part": i32(32)})

    @case
    def matmul_batched():
        a, b, c = factors(16, 32, 32, batch=(3,))
        return Case((2, 3), {"a": In(a), "b": In(b), "c": Out(c), "n": i32(32), "k": i32(32)})

    @case
    def matmul_int4():
        a, _, _ = factors(16, 32, 64)
        weights = rng(5).randint(-8, 8, (64, 32))
        nibbles = (weights + 8).astype(np.uint8)
        packed = nibbles[0::2] | nibbles[1::2] << 4
        args = {"a": In(a), "packed": In(packed), "c": Out((a.astype(np.int64) @ weights).astype(np.float32))}
        return Case((1,), {**args, "n": i32(32), "k": i32(64)})

    @case
    def gemv():
        m, x = wholes(1, -9, 9, 16, 128).astype(np.float32), wholes(2, -9, 9, 128).astype(np.float32)
        return Case((2,), {"m": In(m), "x": In(x), "y": Out(m @ x), "columns": i32(128)})

    @case
    def conv2d():
        x, w = rng(1).randint(-4, 5, (4, 18, 16)), rng(2).randint(-4, 5, (3, 3, 16, 16))
        want = np.zeros((2, 16, 16), np.int64)
        for dy in range(3):
            for dx in range(3):
                want += x[dy : dy + 2, dx : dx + 16] @ w[dy, dx]
        args = {"x": In(x.astype(np.float16)), "w": In(w.astype(np.float16)), "out": Out(want.astype(np.float32))}
        return Case((2,), {**args, "width": i32(18)})

    # ---- attention

    @case
    def attention_decode():
        q, k, v = numbers(1, 2, 32), numbers(2, 2, 96, 32), numbers(3, 2, 96, 32)
        scores = np.einsum("hd,hld->hl", q, k) * 0.18
        want = np.einsum("hl,hld->hd", softmax(scores), v)
        args = {"q": In(q), "k": In(k), "v": In(v), "out": near(want, 1e-4), "length": i32(96), "scale": f32(0.18)}
        return Case((2,), args)

    def attention(length, seen):
        q, k, v = (numbers(seed, length, 32).astype(np.float16) for seed in (1, 2, 3))
        scores = np.where(seen, q.astype(np.float64) @ k.astype(np.float64).T * 0.18, -np.inf)
        want = softmax(scores) @ v.astype(np.float64)
        return {
            "q": In(q),
            "k": In(k),
            "v": In(v),
            "out": near(want, 3e-3),
            "length": i32(length),
            "scale": f32(0.18),
        }

    @case
    def attention_window():
        i, j = np.arange(96)[:, None], np.arange(96)[None, :]
        return Case((3,), attention(96, (j <= i) & (j > i - 32)))

    @case
    def attention_descriptor():
        return Case((2,), attention(128, np.ones((128, 128), bool)))

    # ---- tensor descriptors

    @case
    def descriptor_copy():
        x = numbers(1, 64, 96)
        return Case((2, 3), {"x": In(x), "out": Out(x * 2), "m": i32(64), "n": i32(96)})

    @case
    def descriptor_sum():
        x = wholes(1, -999, 999, 64, 96)
        return Case((2,), {"x": In(x), "out": Out(x.sum(axis=1, dtype=np.int32)), "m": i32(64), "n": i32(96)})

    @case
    def descriptor_reduce():
        x = wholes(1, -999, 999, 64, 64)
        want = x[:32] + x[32:]
        args = {"x": In(x), "out": InOut(np.zeros_like(want), want), "m": i32(64), "n": i32(64)}
        return Case((2, 2), args)

    return cases

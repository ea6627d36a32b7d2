"""Kernels for test_triton.py: tensor descriptors, tuples, what Triton leaves out, decorators."""

import triton
import triton.language as tl


@triton.jit
def scale_tile(a, b, factor, B: tl.constexpr):
    b.store([0, 0], a.load([0, 0]) * factor)


@triton.jit
def copy_tiles(a, b, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(a, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    target = tl.make_tensor_descriptor(b, shape=[m, n], strides=[n, 1], block_shape=[B, B])
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    target.store(at, source.load(at))


@triton.jit
def several(out, one, pair, nothing, half, flag, B: tl.constexpr):
    value = one + pair[0] * pair[1] + half
    if flag:
        value += 1
    tl.store(out + tl.arange(0, B), value)


@triton.autotune([triton.Config({"B": 128}), triton.Config({"B": 64})], key=["count"])
@triton.heuristics({"ODD": lambda arguments: arguments["count"] % 2})
@triton.jit
def tuned(x, out, count, B: tl.constexpr, ODD: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < count) + (1 - ODD), mask=at < count)


@triton.jit
def last_wins(out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B), tl.full([B], 0, tl.int32) + tl.program_id(0))


@triton.jit
def sum_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    values = tl.load(x + rows[:, None] * N + columns[None, :])
    tl.store(out + rows, tl.sum(values, axis=1))

"""How each kernel of ptx/ is launched, and what must come out.

One function a kernel returns a `Case`. References are numpy in float64, or exact where the kernel's arithmetic is
(products of small integers, sums of integers). What an approximate function, the order of a sum or the rounding of an
intermediate result moves is compared within the bound that the case states; the bits themselves are those that an
H200 gave for the same inputs (recorded.json, see run.py).
"""

import math
import pathlib
import sys
from dataclasses import dataclass
from typing import Optional

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "programs"))
import small_cases  # noqa: E402
from programs import In, InOut, Out, Value, rng  # noqa: E402


@dataclass
class Close:
    """An output that is compared within a bound: |got - want| <= absolute + relative * |want|. With `array`, it is read first."""

    expected: np.ndarray
    absolute: float
    relative: float = 0.0
    unbounded: Optional[np.ndarray] = None  # elements that may be anything
    array: Optional[np.ndarray] = None


@dataclass
class Case:
    grid: tuple
    args: dict  # parameter -> argument


cases = {}


def case(function):
    cases[function.__name__] = function
    return function


def i32(value):
    return Value("s32", value)


def f32(value):
    return Value("f32", value)


def halves(r, *shape):
    return r.standard_normal(shape).astype(np.float16)


def matmul_case(m, n, k):
    r = rng(2)
    a = r.randint(-8, 9, (m, k)).astype(np.float16)
    b = r.randint(-8, 9, (k, n)).astype(np.float16)
    c = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32)
    args = {"a": In(a), "b": In(b), "c": Out(c), "m": i32(m), "n": i32(n), "k": i32(k)}
    return Case((-(-m // 64), -(-n // 64)), args)


@case
def matmul():
    return matmul_case(128, 112, 160)


@case
def matmul_descriptor():
    return matmul_case(128, 112, 192)


@case
def softmax():
    rows, columns = 16, 224
    x = (4 * rng(3).standard_normal((rows, columns))).astype(np.float32)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    want = Close((powers / powers.sum(axis=1, keepdims=True)).astype(np.float32), 1e-7, 1e-5)
    return Case((rows,), {"out": want, "x": In(x), "stride": i32(columns), "columns": i32(columns)})


LAYER_NORM = (16, 240)  # rows, columns
EPSILON = 1e-5


def layer_norm_inputs():
    r = rng(4)
    x = (halves(r, *LAYER_NORM) * np.float16(2) + np.float16(0.5)).astype(np.float16)
    w, b = halves(r, LAYER_NORM[1]), halves(r, LAYER_NORM[1])
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1)
    rstd = 1 / np.sqrt(wide.var(axis=1) + EPSILON)
    return x, w, b, mean, rstd


@case
def layer_norm_forward():
    x, w, b, mean, rstd = layer_norm_inputs()
    rows, columns = LAYER_NORM
    y = (x.astype(np.float64) - mean[:, None]) * rstd[:, None] * w.astype(np.float64) + b.astype(np.float64)
    args = {
        "x": In(x), "y": Close(y.astype(np.float16), 1e-3, 1e-3), "w": In(w), "b": In(b),
        "mean": Close(mean.astype(np.float32), 1e-6), "rstd": Close(rstd.astype(np.float32), 1e-6),
        "stride": i32(columns), "columns": i32(columns), "eps": f32(EPSILON),
    }  # fmt: skip
    return Case((rows,), args)


@case
def layer_norm_backward():
    x, w, _, mean, rstd = layer_norm_inputs()
    rows, columns = LAYER_NORM
    dy = halves(rng(5), rows, columns)
    mean, rstd = mean.astype(np.float32), rstd.astype(np.float32)
    normal = (x.astype(np.float64) - mean[:, None]) * rstd[:, None]
    weighted = w.astype(np.float64) * dy.astype(np.float64)
    c1 = (normal * weighted).mean(axis=1, keepdims=True)
    c2 = weighted.mean(axis=1, keepdims=True)
    dx = (weighted - (normal * c1 + c2)) * rstd[:, None]
    dw = np.trunc(dy.astype(np.float32) * 16).astype(np.int32).sum(axis=0, dtype=np.int32)
    args = {
        "dx": Close(dx.astype(np.float16), 1e-3, 1e-3), "dy": In(dy),
        "dw": InOut(np.zeros(columns, np.int32), dw), "x": In(x), "w": In(w), "mean": In(mean), "rstd": In(rstd),
        "locks": InOut(np.zeros(1, np.int32), np.zeros(1, np.int32)),
        "stride": i32(columns), "columns": i32(columns),
    }  # fmt: skip
    return Case((rows,), args)


def attention_case(causal):
    heads, length, depth = 2, 192, 64
    r = rng(6)
    q, k, v = (halves(r, heads, length, depth) for _ in range(3))
    scale = np.float32(0.125)
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64)) * float(scale) / math.log(2)
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    most = scores.max(axis=2, keepdims=True)
    powers = np.exp2(scores - most)
    total = powers.sum(axis=2, keepdims=True)
    out = np.einsum("hij,hjd->hid", powers / total, v.astype(np.float64))
    args = {
        "q": In(q), "k": In(k), "v": In(v), "out": Close(out.astype(np.float16), 2e-3),
        "log_sums": Close((most + np.log2(total)).astype(np.float32), 1e-4),
        "scale": f32(float(scale)), "length": i32(length),
    }  # fmt: skip
    return Case((length // 64, heads), args)


@case
def attention():
    return attention_case(False)


@case
def attention_causal():
    return attention_case(True)


def philox(seed, counters):
    """Philox-4x32-10's first two words for 32-bit counters, as tl.randint4x takes seed and offset."""
    c = [counters.astype(np.uint64), *(np.zeros(counters.size, np.uint64) for _ in range(3))]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            (b >> shift) ^ c[1] ^ np.uint64(k0), b & mask, (a >> shift) ^ c[3] ^ np.uint64(k1), a & mask,
        ]  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0], c[1]


def to_unit(word):
    """tl.uint_to_uniform_float in float64."""
    signed = word.astype(np.uint32).view(np.int32).astype(np.float64)
    return np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10


@case
def random_normal():
    count, seed = 1024, 123
    u, v = (to_unit(w) for w in philox(seed, np.arange(count)))
    want = np.sqrt(-2 * np.log(np.maximum(u, 1e-7))) * np.cos(6.283185307179586 * v)
    return Case((count // 256,), {"out": Close(want.astype(np.float32), 2e-5, 2e-5), "seed": i32(seed)})


def erf(x):
    return np.array([math.erf(v) for v in x])


def math_case(type, functions, absolute, relative):
    """Numbers of every size that the functions are defined for, and the special ones: from a file, since numpy's own
    functions differ in their last bits from host to host."""
    x = np.load(FOLDER / f"math_{'f32' if type is np.float32 else 'f64'}.x.npy")
    count = x.size
    wide, other = x.astype(np.float64), x[::-1].astype(np.float64)
    with np.errstate(all="ignore"):
        want = np.stack([f(wide, other).astype(type) for f in functions])
    # Fast functions flush subnormal numbers, and are no sine of large ones.
    with np.errstate(invalid="ignore"):
        extreme = (np.abs(x) < np.finfo(type).tiny) & (x != 0) | (np.abs(x) > 1e30)
    unbounded = np.broadcast_to(extreme | extreme[::-1], want.shape)
    args = {"x": In(x), "out": Close(want, absolute, relative, unbounded), "count": i32(count)}
    return Case((count // 128,), args)


def sigmoid(v, w):
    return 1 / (1 + np.exp(-v))


def divide(v, w):
    return v / w


def power(v, w):
    return np.power(v, w)


@case
def math_f32():
    functions = [
        lambda v, w: np.exp(v), lambda v, w: np.exp2(v), lambda v, w: np.log(v), lambda v, w: np.log2(v),
        lambda v, w: np.sin(v), lambda v, w: np.cos(v), lambda v, w: np.sqrt(v), lambda v, w: 1 / np.sqrt(v),
        lambda v, w: np.sqrt(v), lambda v, w: erf(v), lambda v, w: np.floor(v) + np.ceil(v),
        lambda v, w: np.abs(v), sigmoid, divide, divide, divide, lambda v, w: v * w + v,
        lambda v, w: np.tanh(v), lambda v, w: np.exp(v), lambda v, w: np.log(v), lambda v, w: np.sin(v),
        lambda v, w: np.cos(v), divide, power, lambda v, w: np.log1p(v), lambda v, w: np.expm1(v),
    ]  # fmt: skip
    return math_case(np.float32, functions, 1e-4, 2e-5)


@case
def math_f64():
    functions = [
        lambda v, w: np.exp(v), lambda v, w: np.exp2(v), lambda v, w: np.log(v), lambda v, w: np.log2(v),
        lambda v, w: np.sin(v), lambda v, w: np.cos(v), lambda v, w: np.sqrt(v), lambda v, w: 1 / np.sqrt(v),
        lambda v, w: erf(v), divide, lambda v, w: v * w + v, lambda v, w: np.tanh(v),
    ]  # fmt: skip
    return math_case(np.float64, functions, 1e-14, 1e-14)


small = small_cases.make(globals())
cases.update(small)

"""How each kernel of training_kernels.py is launched, and what must come out: as ../cases.py. References are numpy in float64."""

import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cases import Case, Close, In, InOut, Out, f32, i32, rng  # noqa: E402

cases = {}


def case(function):
    cases[function.__name__] = function
    return function


def numbers(seed, *shape):
    return rng(seed).standard_normal(shape).astype(np.float32)


def near(value, array=None):
    return Close(np.asarray(value).astype(np.float32), 2e-5, 2e-5, array=array)


def wide(*arrays):
    return [array.astype(np.float64) for array in arrays]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_sums(x):
    most = x.max(axis=-1)
    return most + np.log(np.exp(x - most[..., None]).sum(axis=-1))


@case
def count_step():
    return Case((1,), {"steps": InOut(np.array([41], np.int32), np.array([42], np.int32))})


@case
def scale_in_place():
    gradient, scale = numbers(1, 3, 300), np.array([0.5], np.float32)
    return Case((3,), {"gradient": near(gradient * 0.5, gradient), "scale": In(scale), "columns": i32(300)})


def inverse_rms(x):
    return 1 / np.sqrt((x * x).mean(axis=1) + 1e-5)


@case
def softmax_in_place():
    x = numbers(1, 3, 11)
    powers = np.exp(wide(x)[0] - x.max(axis=-1, keepdims=True))
    return Case((3,), {"x": near(powers / powers.sum(axis=-1, keepdims=True), x), "columns": i32(11)})


@case
def running_mean():
    x, mean, count = numbers(1, 3, 30), numbers(2, 3), np.array([1, 4, 9], np.int32)
    now = mean + (x.mean(axis=-1) - mean) / (count + 1)
    args = {"x": In(x), "mean": near(now, mean), "count": InOut(count, count + 1), "columns": i32(30)}
    return Case((3,), {**args, "momentum": f32(0)})


@case
def sine_in_place():
    x = numbers(1, 50) * np.float32(200000)  # beyond 105615 the sine takes its slow path
    (values,) = wide(x)
    return Case((2,), {"x": near(np.where(x < 0, 0.5 * values, np.sin(values)), x), "count": i32(50)})


@case
def clip_in_place():
    x = numbers(1, 50)
    return Case((2,), {"x": InOut(x, np.clip(x, -1, 1)), "count": i32(50)})


@case
def rms_norm():
    x, w = numbers(1, 4, 200), numbers(2, 200)
    wx, ww = wide(x, w)
    inverse = inverse_rms(wx)
    out = {"y": near(wx * inverse[:, None] * ww), "rstd": near(inverse)}
    return Case((4,), {"x": In(x), "w": In(w), **out, "columns": i32(200), "eps": f32(1e-5)})


@case
def rms_norm_backward():
    rows, columns, each = 7, 200, 2
    dy, x, w = numbers(1, rows, columns), numbers(2, rows, columns), numbers(3, columns)
    slope, value, weight = wide(dy, x, w)
    inverse = inverse_rms(value)[:, None]
    weighted = slope * weight
    dx = inverse * (weighted - value * inverse**2 * (weighted * value).mean(axis=1, keepdims=True))
    parts = [(slope * value * inverse)[i : i + each].sum(axis=0) for i in range(0, rows, each)]
    args = {"dy": In(dy), "x": In(x), "w": In(w), "rstd": In(inverse.ravel().astype(np.float32))}
    sizes = {"rows": i32(rows), "columns": i32(columns), "each": i32(each)}
    return Case((len(parts),), {**args, "dx": near(dx), "dw": near(np.stack(parts)), **sizes})


@case
def layer_norm():
    x, w, b = numbers(1, 4, 300), numbers(2, 300), numbers(3, 300)
    value, weight, bias = wide(x, w, b)
    mean = value.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt(value.var(axis=1, keepdims=True) + 1e-5)
    out = {"y": near((value - mean) * inverse * weight + bias), "mean": near(mean), "rstd": near(inverse)}
    return Case((4,), {"x": In(x), "w": In(w), "b": In(b), **out, "columns": i32(300), "eps": f32(1e-5)})


@case
def layer_norm_backward():
    dy, x, w = numbers(1, 4, 300), numbers(2, 4, 300), numbers(3, 300)
    slope, value, weight = wide(dy, x, w)
    mean = value.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt(value.var(axis=1, keepdims=True) + 1e-5)
    unit, weighted = (value - mean) * inverse, slope * weight
    along = (unit * weighted).mean(axis=1, keepdims=True)
    dx = (weighted - unit * along - weighted.mean(axis=1, keepdims=True)) * inverse
    args = {"dy": In(dy), "x": In(x), "w": In(w)}
    args.update({"mean": In(mean.astype(np.float32)), "rstd": In(inverse.astype(np.float32)), "dx": near(dx)})
    zeros = np.zeros(300, np.float32)
    args.update({"dw": near((slope * unit).sum(axis=0), zeros), "db": near(slope.sum(axis=0), zeros)})
    return Case((4,), {**args, "columns": i32(300)})


@case
def cross_entropy():
    logits, labels = numbers(1, 5, 300), np.array([7, 299, -100, 0, 128], np.int32)
    value = logits.astype(np.float64)
    sums = log_sums(value)
    kept = labels >= 0
    slopes = np.exp(value - sums[:, None])
    slopes[np.arange(5), labels * kept] -= 1
    losses = (sums - value[np.arange(5), labels * kept]) * kept
    args = {"logits": near(slopes * kept[:, None], logits), "loss": near(losses, np.zeros(5, np.float32))}
    return Case((5,), {**args, "labels": In(labels), "classes": i32(300), "ignored": i32(-100)})


@case
def linear_cross_entropy():
    r = rng(1)
    hidden, weight = r.standard_normal((32, 32)).astype(np.float16), r.standard_normal((75, 32)).astype(np.float16)
    labels = r.randint(0, 75, 32).astype(np.int32)
    value = hidden.astype(np.float64) @ weight.astype(np.float64).T
    losses = log_sums(value) - value[np.arange(32), labels]
    args = {"hidden": In(hidden), "weight": In(weight), "loss": near(losses), "labels": In(labels)}
    return Case((2,), {**args, "classes": i32(75)})


@case
def kl_divergence():
    r = rng(1)
    logits, target = (np.log(r.dirichlet(np.ones(200), 4)).astype(np.float32) for _ in range(2))
    q, p = wide(logits, target)
    args = {"logits": In(logits), "target": In(target), "loss": near((np.exp(p) * (p - q)).sum(axis=1))}
    return Case((4,), {**args, "slope": near(-np.exp(p)), "classes": i32(200)})


@case
def swiglu():
    a, b = numbers(1, 3, 200), numbers(2, 3, 200)
    gate, other = wide(a, b)
    return Case((3,), {"a": In(a), "b": In(b), "c": near(gate * sigmoid(gate) * other), "columns": i32(200)})


@case
def swiglu_backward():
    dc, a, b = numbers(1, 3, 200), numbers(2, 3, 200), numbers(3, 3, 200)
    slope, gate, other = wide(dc, a, b)
    share = sigmoid(gate)
    da, db = slope * other * (share + gate * share * (1 - share)), slope * gate * share
    return Case((3,), {"dc": In(dc), "a": near(da, a), "b": near(db, b), "columns": i32(200)})


@case
def geglu():
    a, b = numbers(1, 3, 200), numbers(2, 3, 200)
    gate, other = wide(a, b)
    half = 0.5 * gate * (1 + np.vectorize(math.erf)(gate / math.sqrt(2)))
    return Case((3,), {"a": In(a), "b": In(b), "c": near(half * other), "columns": i32(200)})


@case
def softmax():
    x = numbers(1, 3, 900)
    value = x.astype(np.float64)
    return Case((3,), {"x": In(x), "out": near(np.exp(value - log_sums(value)[:, None])), "columns": i32(900)})


@case
def rope():
    tokens, heads, half = 5, 3, 24
    turns = rng(3).uniform(0, 6, (tokens, half))
    cosines, sines = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
    args = {}
    for seed, name in enumerate("qk"):
        x = numbers(seed, tokens, heads, 2 * half)
        a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
        cosine, sine = cosines[:, None, :], sines[:, None, :]
        args[name] = near(np.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1), x)
    return Case(
        (tokens,), {**args, "cosines": In(cosines), "sines": In(sines), "heads": i32(heads), "half": i32(half)}
    )


@case
def embedding():
    table, ids = numbers(1, 20, 100), rng(2).randint(0, 20, 10).astype(np.int32)
    args = {"table": In(table), "out": Out(table[ids]), "ids": In(ids)}
    return Case((3, 2), {**args, "tokens": i32(10), "depth": i32(100)})


@case
def embedding_backward():
    dout, ids = numbers(1, 10, 100), rng(2).randint(0, 20, 10).astype(np.int32)
    sums = np.zeros((20, 100))
    np.add.at(sums, ids, dout.astype(np.float64))
    args = {"dtable": near(sums, np.zeros((20, 100), np.float32)), "dout": In(dout), "ids": In(ids)}
    return Case((3, 2), {**args, "tokens": i32(10), "depth": i32(100)})

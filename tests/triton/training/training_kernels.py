"""Triton kernels of the kind that libraries for the training of language models have: norms, losses, activations, rotary
positions, embeddings, forward and backward. What these have beside tests/triton's others: scalars that each thread loads and one
stores, outputs in the place of inputs, loops over a row in blocks, partial sums of a program, `tl.debug_barrier`.

Only compile.py reads this file, and only it needs Triton. training_cases.py says how they are launched and what must come out.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

VARIANTS = {}  # name -> (kernel, types of the parameters that are no constants, constants, warps)


def compiled(types, num_warps=4, **constants):
    """Compiles the kernel below it. `types`: "fp32 x y; i32 n" are pointers x and y, and "=fp32 eps" a number."""
    signature = {}
    for part in types.split(";"):
        type, *names = part.split()
        signature.update({name: type[1:] if type[0] == "=" else "*" + type for name in names})

    def add(function):
        VARIANTS[function.__name__] = (triton.jit(function), signature, constants, num_warps)
        return VARIANTS[function.__name__][0]

    return add


# ---- scalars


@compiled("i32 steps")
def count_step(steps):
    tl.store(steps, tl.load(steps) + 1)


@compiled("fp32 gradient scale; =i32 columns", B=128)
def scale_in_place(gradient, scale, columns, B: tl.constexpr):
    row = gradient + tl.program_id(0) * columns
    by = tl.load(scale)
    for begin in range(0, columns, B):
        at = begin + tl.arange(0, B)
        value = tl.load(row + at, mask=at < columns)
        tl.store(row + at, value * by, mask=at < columns)


# ---- outputs in the place of inputs that are smaller than a program has threads: all have loaded, one of each element stores


@triton.jit
def larger(a, b):
    """As PyTorch compares: NaN is the largest."""
    return tl.where((a > b) | (a != a), a, b)


@compiled("fp32 x; =i32 columns", B=16)
def softmax_in_place(x, columns, B: tl.constexpr):
    at = tl.arange(0, B)
    row = x + tl.program_id(0) * columns + at
    value = tl.load(row, mask=at < columns, other=float("-inf"))
    powers = tl.exp(value - tl.reduce(value, 0, larger))
    tl.store(row, powers / tl.sum(powers), mask=at < columns)


@compiled("fp32 x mean; i32 count; =i32 columns; =fp32 momentum", B=32)
def running_mean(x, mean, count, columns, momentum, B: tl.constexpr):
    """Of a channel: momentum 0 takes all batches alike."""
    at, channel = tl.arange(0, B), tl.program_id(0)
    value = tl.load(x + channel * columns + at, mask=at < columns, other=0.0)
    batches = tl.load(count + channel) + 1
    before = tl.load(mean + channel)
    now = before + (tl.sum(value) / columns - before) * tl.where(momentum > 0, momentum, 1 / batches.to(tl.float32))
    tl.store(mean + channel, now)
    tl.store(count + channel, batches)


@compiled("fp32 x; =i32 count", B=32)
def sine_in_place(x, count, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, mask=at < count)
    tl.store(x + at, tl.where(value < 0, 0.5 * value, libdevice.sin(value)), mask=at < count)


@compiled("fp32 x; =i32 count", B=32)
def clip_in_place(x, count, B: tl.constexpr):
    """Stores what it changes."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, mask=at < count)
    tl.store(x + at, tl.where(value > 1, 1.0, -1.0), mask=(at < count) & (tl.abs(value) > 1))


# ---- norms


@compiled("fp32 x w y rstd; =i32 columns; =fp32 eps", B=256)
def rms_norm(x, w, y, rstd, columns, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0)
    inverse = tl.rsqrt(tl.sum(value * value) / columns + eps)
    tl.store(rstd + row, inverse)
    tl.store(y + row * columns + at, value * inverse * tl.load(w + at, mask=inside), mask=inside)


@compiled("fp32 dy x w rstd dx dw; =i32 rows columns each", B=256)
def rms_norm_backward(dy, x, w, rstd, dx, dw, rows, columns, each, B: tl.constexpr):
    program, at = tl.program_id(0), tl.arange(0, B)
    inside = at < columns
    weight = tl.load(w + at, mask=inside, other=0.0)
    sums = tl.zeros((B,), tl.float32)
    for row in range(program * each, min((program + 1) * each, rows)):
        slope = tl.load(dy + row * columns + at, mask=inside, other=0.0)
        value = tl.load(x + row * columns + at, mask=inside, other=0.0)
        inverse = tl.load(rstd + row)
        weighted = slope * weight
        mean = tl.sum(weighted * value) / columns
        given = inverse * (weighted - value * inverse * inverse * mean)
        tl.store(dx + row * columns + at, given, mask=inside)
        sums += slope * value * inverse
    tl.store(dw + program * columns + at, sums, mask=inside)


@compiled("fp32 x w b y mean rstd; =i32 columns; =fp32 eps", num_warps=8, B=512)
def layer_norm(x, w, b, y, mean, rstd, columns, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0)
    average = tl.sum(value) / columns
    apart = tl.where(inside, value - average, 0.0)
    inverse = tl.rsqrt(tl.sum(apart * apart) / columns + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, inverse)
    made = apart * inverse * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(y + row * columns + at, made, mask=inside)


@compiled("fp32 dy x w mean rstd dx dw db; =i32 columns", num_warps=8, B=512)
def layer_norm_backward(dy, x, w, mean, rstd, dx, dw, db, columns, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    inside = at < columns
    slope = tl.load(dy + row * columns + at, mask=inside, other=0.0)
    inverse = tl.load(rstd + row)
    unit = tl.where(inside, (tl.load(x + row * columns + at, mask=inside) - tl.load(mean + row)) * inverse, 0.0)
    weighted = slope * tl.load(w + at, mask=inside, other=0.0)
    along = tl.sum(unit * weighted) / columns
    level = tl.sum(weighted) / columns
    tl.store(dx + row * columns + at, (weighted - unit * along - level) * inverse, mask=inside)
    tl.atomic_add(dw + at, slope * unit, mask=inside, sem="relaxed")
    tl.atomic_add(db + at, slope, mask=inside, sem="relaxed")


# ---- losses


@compiled("fp32 logits loss; i32 labels; =i32 classes ignored", B=128)
def cross_entropy(logits, loss, labels, classes, ignored, B: tl.constexpr):
    """The slopes take the place of the logits."""
    row = logits + tl.program_id(0) * classes
    label = tl.load(labels + tl.program_id(0))
    if label == ignored:
        for begin in range(0, classes, B):
            at = begin + tl.arange(0, B)
            tl.store(row + at, 0.0, mask=at < classes)
        return
    of_label = tl.load(row + label)
    most, total = -float("inf"), 0.0
    for begin in range(0, classes, B):
        at = begin + tl.arange(0, B)
        value = tl.load(row + at, mask=at < classes, other=-float("inf"))
        larger = tl.maximum(most, tl.max(value))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(value - larger))
        most = larger
    for begin in range(0, classes, B):
        at = begin + tl.arange(0, B)
        value = tl.load(row + at, mask=at < classes, other=-float("inf"))
        slope = tl.exp(value - most) / total
        tl.store(row + at, tl.where(at == label, slope - 1, slope), mask=at < classes)
    tl.debug_barrier()
    tl.store(loss + tl.program_id(0), most + tl.log(total) - of_label)


@compiled("fp16 hidden weight; fp32 loss; i32 labels; =i32 classes", M=16, N=32, K=32)
def linear_cross_entropy(hidden, weight, loss, labels, classes, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Of hidden * weight^T, of which no more than a tile is ever there."""
    rows, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, K)
    state = tl.load(hidden + rows[:, None] * K + inner[None, :])
    label = tl.load(labels + rows)
    most = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    of_label = tl.zeros((M,), tl.float32)
    for begin in range(0, classes, N):
        at = begin + tl.arange(0, N)
        part = tl.load(weight + at[:, None] * K + inner[None, :], mask=(at < classes)[:, None], other=0.0)
        logits = tl.where((at < classes)[None, :], tl.dot(state, tl.trans(part)), -float("inf"))
        larger = tl.maximum(most, tl.max(logits, axis=1))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(logits - larger[:, None]), axis=1)
        of_label += tl.sum(tl.where(at[None, :] == label[:, None], logits, 0.0), axis=1)
        most = larger
    tl.store(loss + rows, most + tl.log(total) - of_label)


@compiled("fp32 logits target loss slope; =i32 classes", B=128)
def kl_divergence(logits, target, loss, slope, classes, B: tl.constexpr):
    """Of logarithms of probabilities, a row in blocks."""
    row = tl.program_id(0) * classes
    total = 0.0
    for begin in range(0, classes, B):
        at = begin + tl.arange(0, B)
        inside = at < classes
        is_q = tl.load(logits + row + at, mask=inside, other=0.0)
        is_p = tl.load(target + row + at, mask=inside, other=-float("inf"))
        total += tl.sum(tl.where(inside, tl.exp(is_p) * (is_p - is_q), 0.0))
        tl.store(slope + row + at, -tl.exp(is_p), mask=inside)
    tl.store(loss + tl.program_id(0), total)


# ---- activations, in place backward


@compiled("fp32 a b c; =i32 columns", B=256)
def swiglu(a, b, c, columns, B: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    gate = tl.load(a + at, mask=inside, other=0.0)
    tl.store(c + at, gate * tl.sigmoid(gate) * tl.load(b + at, mask=inside), mask=inside)


@compiled("fp32 dc a b; =i32 columns", B=256)
def swiglu_backward(dc, a, b, columns, B: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    slope = tl.load(dc + at, mask=inside, other=0.0)
    gate = tl.load(a + at, mask=inside, other=0.0)
    other = tl.load(b + at, mask=inside, other=0.0)
    share = tl.sigmoid(gate)
    tl.store(a + at, slope * other * (share + gate * share * (1 - share)), mask=inside)
    tl.store(b + at, slope * gate * share, mask=inside)


@compiled("fp32 a b c; =i32 columns", B=256)
def geglu(a, b, c, columns, B: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    gate = tl.load(a + at, mask=inside, other=0.0)
    half = 0.5 * gate * (1 + tl.erf(gate * 0.7071067811865476))
    tl.store(c + at, half * tl.load(b + at, mask=inside), mask=inside)


@compiled("fp32 x out; =i32 columns", num_warps=8, B=1024)
def softmax(x, out, columns, B: tl.constexpr):
    row, at = tl.program_id(0) * columns, tl.arange(0, B)
    value = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(value - tl.max(value))
    tl.store(out + row + at, powers / tl.sum(powers), mask=at < columns)


# ---- positions, embeddings


@compiled("fp32 q k cosines sines; =i32 heads half", H=4, B=32)
def rope(q, k, cosines, sines, heads, half, H: tl.constexpr, B: tl.constexpr):
    """All heads of a token at once, in place."""
    token, head, at = tl.program_id(0), tl.arange(0, H)[:, None], tl.arange(0, B)[None, :]
    inside = (head < heads) & (at < half)
    cosine = tl.load(cosines + token * half + at, mask=at < half)
    sine = tl.load(sines + token * half + at, mask=at < half)
    for which in tl.static_range(2):
        first = (k if which else q) + token * heads * 2 * half + head * 2 * half + at
        a = tl.load(first, mask=inside, other=0.0)
        b = tl.load(first + half, mask=inside, other=0.0)
        tl.store(first, a * cosine - b * sine, mask=inside)
        tl.store(first + half, b * cosine + a * sine, mask=inside)


@compiled("fp32 table out; i32 ids; =i32 tokens depth", M=4, B=64)
def embedding(table, out, ids, tokens, depth, M: tl.constexpr, B: tl.constexpr):
    token = tl.program_id(0) * M + tl.arange(0, M)
    at = tl.program_id(1) * B + tl.arange(0, B)
    inside = (token < tokens)[:, None] & (at < depth)[None, :]
    row = tl.load(ids + token, mask=token < tokens, other=0)
    value = tl.load(table + row[:, None] * depth + at[None, :], mask=inside)
    tl.store(out + token[:, None] * depth + at[None, :], value, mask=inside)


@compiled("fp32 dtable dout; i32 ids; =i32 tokens depth", M=4, B=64)
def embedding_backward(dtable, dout, ids, tokens, depth, M: tl.constexpr, B: tl.constexpr):
    token = tl.program_id(0) * M + tl.arange(0, M)
    at = tl.program_id(1) * B + tl.arange(0, B)
    inside = (token < tokens)[:, None] & (at < depth)[None, :]
    row = tl.load(ids + token, mask=token < tokens, other=0)
    slope = tl.load(dout + token[:, None] * depth + at[None, :], mask=inside)
    tl.atomic_add(dtable + row[:, None] * depth + at[None, :], slope, mask=inside)

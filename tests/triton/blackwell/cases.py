"""How each kernel of ptx/ is launched, and what must come out: of products every bit, as tests/programs/exact.py has the
sum of each instruction; of attention what float64 gives, within a bound.
"""

import json
import math
import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "programs"))
import exact  # noqa: E402
import programs  # noqa: E402
from programs import BF16_LEAST, E2M1, E4M3, E5M2, F16_LEAST, In, Launch, Out, Scratch, Value  # noqa: E402

LAUNCHES = json.loads((FOLDER / "launches.json").read_text())


def launch(name, grid, **arguments):
    """The launch of a file; `scratch` and the profiler's memory come last."""
    of = LAUNCHES[name]
    given = [arguments[p] for p in of["parameters"]]
    given = [Value("s32", a) if isinstance(a, int) else Value("f32", a) if isinstance(a, float) else a for a in given]
    grid = (grid[0] * of["cluster"], *grid[1:])
    scratch = Scratch(max(16, of["scratch_bytes"] * math.prod(grid)))
    return Launch(grid, (of["threads"],), [*given, scratch, Scratch(16)], smem=of["shared_bytes"])


def normal(r, *shape):
    return r.standard_normal(shape).astype(np.float32)


def operands(type, r, m, n, k):
    """a [m, k] and b [n, k] as the kernel has them, their values, K of an instruction, and exact.py's `least`."""
    if type in (E4M3, E5M2):
        bits = [programs.narrow(r, (rows, k), type) for rows in (m, n)]
        return bits, [exact.from_bits(x, *type) for x in bits], 32, (programs.NARROW_LEAST[type],) * 2
    a, b = normal(r, m, k), normal(r, n, k)
    if type == "tf32":
        return [a, b], [programs.to_tf32(x) for x in (a, b)], 8, BF16_LEAST
    if type == "bf16":
        bits = [programs.to_bf16(x) for x in (a, b)]
        return bits, [programs.from_bf16(x) for x in bits], 16, BF16_LEAST
    halves = [x.astype(np.float16) for x in (a, b)]
    return halves, [x.astype(np.float32) for x in halves], 16, F16_LEAST


def matmul(name, type, rows=128):
    m, n, k = 176, 80, 208
    (a, b), values, k_step, least = operands(type, programs.rng(2), m, n, k)
    values = [programs.padded(x, k_step, 1) for x in values]
    c = exact.tensor_product(values[0], values[1].T, k_step, least)
    return launch(name, (programs.cdiv(m, rows), programs.cdiv(n, 64)), a=In(a), b=In(b), c=Out(c), m=m, n=n, k=k)


def matmul_scaled(name, format, of_block, is_e4m3, rows=128):
    r, (m, n, k) = programs.rng(3), (2 * rows, 128, 384)
    shapes = [(m, k // of_block), (n, k // of_block)]
    if is_e4m3:
        scales = [r.randint(0, 0x7F, shape).astype(np.uint8) for shape in shapes]
        factors, least = [exact.from_bits(x, *E4M3) for x in scales], -6
    else:
        scales = [r.randint(118, 136, shape).astype(np.uint8) for shape in shapes]
        powers = [x.astype(np.int32) - 127 for x in scales]
        factors, least = [np.ldexp(np.float32(1), x) for x in powers], -127
    codes = [programs.narrow(r, shape, format) for shape in ((m, k), (n, k))]
    a, b = (exact.from_bits(x, *format) for x in codes)
    if format == E4M3:
        c = exact.tensor_product(a, b.T, 32, (-6, -6), scales=(powers[0], powers[1].T))
    else:
        factors = [np.repeat(x, of_block // 16, 1) for x in factors]
        c = exact.scaled_f4_product(a, b.T, factors[0], factors[1].T, least)
        codes = [x[:, ::2] | x[:, 1::2] << 4 for x in codes]
    a, scale_a, b, scale_b = (In(x) for x in (codes[0], scales[0], codes[1], scales[1]))
    return launch(name, (m // rows, n // 128), a=a, scale_a=scale_a, b=b, scale_b=scale_b, c=Out(c), m=m, n=n, k=k)


def matmul_persistent(name):
    m, n, k = 304, 272, 208
    (a, b), values, k_step, least = operands("f16", programs.rng(4), m, n, k)
    c = exact.tensor_product(values[0], values[1].T, k_step, least).astype(np.float16)
    return launch(name, (4, 1), a=In(a), b=In(b), c=Out(c), m=m, n=n, k=k)


def pair(name, rows):
    m, n, k = 272, 208, 176
    r = programs.rng(6)
    a, b = normal(r, m, k).astype(np.float16), normal(r, k, n).astype(np.float16)
    c = exact.tensor_product(a.astype(np.float32), b.astype(np.float32), 16, F16_LEAST)
    return launch(name, (programs.cdiv(m, rows), programs.cdiv(n, 128)), a=In(a), b=In(b), c=Out(c), m=m, n=n, k=k)


def through(name):
    a = normal(programs.rng(7), 256, 128)
    return launch(name, (1,), a=In(a), c=Out(a))


def added(name, m):
    n = k = 128
    r = programs.rng(8)
    a, b, c = normal(r, m, k).astype(np.float16), normal(r, k, n).astype(np.float16), normal(r, m, n)
    d = exact.tensor_product(a.astype(np.float32), b.astype(np.float32), 16, F16_LEAST, c)
    return launch(name, (1,), a=In(a), b=In(b), c=In(c), d=Out(d))


def ring(name):
    m, n, k = 176, 80, 464
    r = programs.rng(9)
    a, b = normal(r, m, k).astype(np.float16), normal(r, k, n).astype(np.float16)
    c = exact.tensor_product(a.astype(np.float32), b.astype(np.float32), 16, F16_LEAST)
    return launch(name, (programs.cdiv(m, 128), programs.cdiv(n, 64)), a=In(a), b=In(b), c=Out(c), m=m, n=n, k=k)


# An output f16 of attention: steps from what float64 gives, for numbers below 1/16 from those of 1/16.
ATTENTION_STEPS = 8


def attention(name):
    r, heads, length, head = programs.rng(5), 2, 256, 64
    q, k, v = (normal(r, heads, length, head).astype(np.float16) for _ in range(3))
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64)) / 8
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    out = np.einsum("hij,hjd->hid", powers / powers.sum(axis=2, keepdims=True), v.astype(np.float64))
    out = out.astype(np.float16)
    steps = ATTENTION_STEPS * np.spacing(np.float16(1 / 16)) / np.spacing(np.abs(out))
    scale = float(np.float32(math.log2(math.e) / 8))
    tensors = {"q": In(q), "k": In(k), "v": In(v), "out": Out(out, np.maximum(steps.astype(np.float64), ATTENTION_STEPS))}
    return launch(name, (length // 128, heads), **tensors, scale=scale, heads=heads, length=length)


CASES = {
    "matmul_f16": lambda name: matmul(name, "f16"),
    "matmul_f16_m64": lambda name: matmul(name, "f16", 64),
    "matmul_bf16": lambda name: matmul(name, "bf16"),
    "matmul_tf32": lambda name: matmul(name, "tf32"),
    "matmul_e4m3": lambda name: matmul(name, E4M3),
    "matmul_e5m2": lambda name: matmul(name, E5M2),
    "matmul_mxfp8": lambda name: matmul_scaled(name, E4M3, 32, False),
    "matmul_mxfp4": lambda name: matmul_scaled(name, E2M1, 32, False),
    "matmul_nvfp4": lambda name: matmul_scaled(name, E2M1, 16, True),
    "matmul_persistent": matmul_persistent,
    "matmul_persistent_specialized": matmul_persistent,
    "matmul_persistent_cluster": matmul_persistent,
    "gluon_through": through,
    "gluon_through_w8": through,
    "gluon_added": lambda name: added(name, 128),
    "gluon_added_m64": lambda name: added(name, 64),
    "gluon_ring": ring,
    "gluon_pair": lambda name: pair(name, 256),
    "gluon_pair_m128": lambda name: pair(name, 128),
    "gluon_pair_scaled": lambda name: matmul_scaled(name, E4M3, 32, False, 256),
    "attention": attention,
    "attention_specialized": attention,
}

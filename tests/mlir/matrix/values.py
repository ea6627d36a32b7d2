"""Operands for the matrix: bits of every element type, by class of input.

The classes are what makes tensor cores differ: any bits at all, ordinary numbers, exponents far apart, subnormals, and
a mix of infinities, NaNs, zeros, the largest and the smallest.
"""

import numpy as np

CLASSES = ["any", "near", "wide", "subnormal", "special"]

# Bits of an element: (exponent, fraction) of floats; integers have none. A tf32 lies in the upper bits of 32.
FLOATS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "f32": (8, 23),
    "f64": (11, 52),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8}
BITS |= {"f16x2": 32, "bf16x2": 32, "b16": 16, "b64": 64}
BITS |= {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32, "s16": 16, "s64": 64, "b32": 32}


def _float_bits(rng, name, kind, count):
    exponent_bits, fraction_bits = FLOATS[name]
    bias, top = (1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1
    sign = rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(exponent_bits + fraction_bits)
    fraction = rng.integers(0, 1 << fraction_bits, count, dtype=np.uint64)
    if kind == "near":
        exponent = rng.integers(bias - 2, bias + 2, count, dtype=np.uint64)
    elif kind == "wide":
        exponent = rng.integers(0, top, count, dtype=np.uint64)
    elif kind == "subnormal":
        exponent = rng.integers(0, 2, count, dtype=np.uint64)
        # Some multiplicands are large, so that not every product vanishes.
        exponent = np.where(rng.random(count) < 0.3, np.uint64(top - 1), exponent)
    else:
        exponent = rng.integers(bias - 2, bias + 2, count, dtype=np.uint64)
        ones = np.uint64((1 << fraction_bits) - 1)
        specials = [(0, 0), (top, 0), (top, ones), (top, 1), (top - 1, ones), (0, 1), (0, ones), (1, 0), (bias, 0)]
        chosen = rng.integers(0, len(specials), count)
        replaced = rng.random(count) < (0.02 if rng.random() < 0.5 else 0.3)
        exponent = np.where(replaced, np.array([s[0] for s in specials], np.uint64)[chosen], exponent)
        fraction = np.where(replaced, np.array([s[1] for s in specials], np.uint64)[chosen], fraction)
    return sign | (exponent << np.uint64(fraction_bits)) | fraction


def elements(rng, name, kind, count):
    """`count` elements as the low bits of uint64."""
    bits = BITS[name]
    if kind == "any" or (name not in FLOATS and kind != "special"):
        return rng.integers(0, 1 << bits, count, dtype=np.uint64, endpoint=False) if bits < 64 else rng.integers(
            0, 1 << 63, count, dtype=np.uint64) << np.uint64(1) | rng.integers(0, 2, count, dtype=np.uint64)
    if name in FLOATS:
        return _float_bits(rng, name, kind, count)
    low, high = 1 << (bits - 1), (1 << (bits - 1)) - 1
    extremes = np.array([0, 1, high, low, (1 << bits) - 1], np.uint64)
    return extremes[rng.integers(0, len(extremes), count)]


def words(rng, name, kind, lanes, count):
    """`count` 32-bit words a lane, full of elements: an array of lanes x count uint32."""
    bits = BITS[name]
    if bits == 64:
        found = elements(rng, name, kind, lanes * count // 2)
        return found.view(np.uint32).reshape(lanes, count)
    per_word = 32 // bits
    found = elements(rng, name, kind, lanes * count * per_word).reshape(-1, per_word)
    shifts = np.arange(per_word, dtype=np.uint64) * np.uint64(bits)
    return np.bitwise_or.reduce(found << shifts, axis=1).astype(np.uint32).reshape(lanes, count)

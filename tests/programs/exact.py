"""Arithmetic with stated rounding, for the references of programs.py.

Two engines. `fma32` and `fma64` work on whole arrays and round to nearest even, for long chains. `Format`
rounds one rational number at a time to any binary format in any direction: slow, and obvious. `python3 exact.py`
compares them. NaN results are the canonical ones of NVIDIA GPUs where the PTX ISA names one; the references avoid
the others.

Beside them the products of tcgen05 of matrices of finite numbers, and the decoder of small formats; what they model is in docs/virtual-gpu.md, "Arithmetic".
"""

import math
import pathlib
from fractions import Fraction

import numpy as np


def _round_to_odd_sum(a, b):
    """a + b in f64, rounded to odd: a later rounding to fewer bits is then the only one that counts."""
    s = a + b
    bb = s - a
    error = (a - (s - bb)) + (b - bb)
    even = (s.view(np.int64) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where((error != 0) & even & np.isfinite(s), np.nextafter(s, toward), s)


def fma32(a, b, c):
    """f32 arrays: a * b + c with one rounding. The product of two f32 is exact in f64."""
    a, b, c = (np.asarray(v, np.float32).astype(np.float64) for v in (a, b, c))
    return _round_to_odd_sum(a * b, c).astype(np.float32)


def _two_sum(a, b):
    s = a + b
    bb = s - a
    return s, (a - (s - bb)) + (b - bb)


def _two_product(a, b):
    def split(v):
        t = v * 134217729.0
        high = t - (t - v)
        return high, v - high

    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def fma64(a, b, c):
    """f64 arrays: a * b + c with one rounding (Boldo and Melquiond). Not near overflow or underflow."""
    a, b, c = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c)))
    uh, ul = _two_product(a, b)
    th, tl = _two_sum(c, ul)
    vh, vl = _two_sum(uh, th)
    return vh + _round_to_odd_sum(tl, vl)


def round_to_integer(x, mode):
    """A Fraction to an int: rn (nearest even), rz, ru, rd."""
    floor = x.numerator // x.denominator
    rest = x - floor
    if mode == "rd" or rest == 0:
        return floor
    if mode == "ru":
        return floor + 1
    if mode == "rz":
        return floor if x >= 0 else floor + 1
    half = Fraction(1, 2)
    return floor + (1 if rest > half or (rest == half and floor % 2) else 0)


class Format:
    """A binary format with subnormals and infinities. Values are ints that hold the bits."""

    def __init__(self, bits, precision, nan):
        self.bits, self.precision, self.nan = bits, precision, nan
        self.fraction_bits = precision - 1
        exponent_bits = bits - precision
        self.bias = 2 ** (exponent_bits - 1) - 1
        self.sign = 1 << (bits - 1)
        self.infinity = (2**exponent_bits - 1) << self.fraction_bits

    def is_nan(self, v):
        return (v & ~self.sign) > self.infinity

    def is_infinite(self, v):
        return (v & ~self.sign) == self.infinity

    def negative(self, v):
        return bool(v & self.sign)

    def value(self, v):
        """The Fraction of a finite number."""
        exponent = (v & ~self.sign) >> self.fraction_bits
        fraction = v & ((1 << self.fraction_bits) - 1)
        if exponent:
            fraction |= 1 << self.fraction_bits
        x = Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - self.bias - self.fraction_bits)
        return -x if self.negative(v) else x

    def round(self, x, mode="rn", zero_sign=0):
        """A Fraction to bits. `zero_sign` is the sign of an exact zero."""
        if x == 0:
            return self.sign if zero_sign else 0
        sign = self.sign if x < 0 else 0
        if sign:
            mode = {"ru": "rd", "rd": "ru"}.get(mode, mode)
            x = -x
        exponent = x.numerator.bit_length() - x.denominator.bit_length()
        if Fraction(2) ** exponent > x:
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        unit = exponent - self.fraction_bits
        significand = round_to_integer(x / Fraction(2) ** unit, mode)
        # The carry of a full significand, and of a subnormal to a normal, runs into the exponent by itself.
        magnitude = significand + ((exponent + self.bias - 1) << self.fraction_bits)
        if magnitude >= self.infinity:
            magnitude = self.infinity if mode in ("rn", "ru") else self.infinity - 1
        return sign | magnitude

    def add(self, a, b, mode="rn"):
        return self.fma(a, self.round(Fraction(1)), b, mode)

    def sub(self, a, b, mode="rn"):
        return self.add(a, b ^ self.sign, mode)

    def mul(self, a, b, mode="rn"):
        if self.is_nan(a) or self.is_nan(b):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a) or self.is_infinite(b):
            zero = not (a & ~self.sign) or not (b & ~self.sign)
            return self.nan if zero else sign | self.infinity
        return self.round(self.value(a) * self.value(b), mode, sign)

    def fma(self, a, b, c, mode="rn"):
        if self.is_nan(a) or self.is_nan(b) or self.is_nan(c):
            return self.nan
        if self.is_infinite(a) or self.is_infinite(b):
            product = self.mul(a, b)
            clash = self.is_infinite(c) and self.negative(c) != self.negative(product)
            return self.nan if self.is_nan(product) or clash else product
        if self.is_infinite(c):
            return c
        x = self.value(a) * self.value(b) + self.value(c)
        product_sign, c_sign = self.negative(a) != self.negative(b), self.negative(c)
        zero_product = self.value(a) * self.value(b) == 0
        if x == 0 and zero_product and product_sign == c_sign:
            return self.round(x, mode, c_sign)
        return self.round(x, mode, mode == "rd")

    def div(self, a, b, mode="rn"):
        """Finite operands, at most one of them zero."""
        sign = (a ^ b) & self.sign
        if not b & ~self.sign:
            return sign | self.infinity
        return self.round(self.value(a) / self.value(b), mode, sign)

    def sqrt(self, a, mode="rn"):
        """Of a finite number that is not negative."""
        x = self.value(a)
        if x == 0:
            return a
        # 2^scale * sqrt(x) with far more bits than the result; what is cut off becomes a half of the last.
        scale = self.precision + self.bits + x.denominator.bit_length()
        scaled = x * Fraction(4) ** scale
        root = math.isqrt(scaled.numerator // scaled.denominator)
        rest = Fraction(0) if root * root == scaled else Fraction(1, 2)
        return self.round((root + rest) / Fraction(2) ** scale, mode)

    def array(self, values):
        return np.array(values, {16: np.uint16, 32: np.uint32, 64: np.uint64}[self.bits])


f16 = Format(16, 11, 0x7FFF)
bf16 = Format(16, 8, 0x7FFF)
f32 = Format(32, 24, 0x7FFFFFFF)
f64 = Format(64, 53, 0xFFF8000000000000)


def bits_of(array):
    """The bits of a float array as Python ints."""
    return [int(v) for v in np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")]


def ulp_distance(got, want):
    """Steps between two float arrays of the same type; NaN is far from everything but NaN."""
    signed = f"i{got.dtype.itemsize}"
    smallest = np.iinfo(signed).min

    def ordered(v):
        bits = v.view(signed)
        return np.where(bits < 0, smallest - bits, bits)

    a, b = ordered(got), ordered(want)
    distance = np.maximum(a, b).astype(object) - np.minimum(a, b).astype(object)
    distance = distance.astype(np.float64)
    one_nan = np.isnan(got) != np.isnan(want)
    return np.where(np.isnan(got) & np.isnan(want), 0, np.where(one_nan, np.inf, distance))


def from_bits(bits, exponent_bits, fraction_bits, bias=None):
    """f32 of the finite numbers of a small format with a sign, from their bits."""
    bits = np.asarray(bits).astype(np.int32)
    bias = (1 << exponent_bits - 1) - 1 if bias is None else bias
    fraction = bits & (1 << fraction_bits) - 1
    biased = bits >> fraction_bits & (1 << exponent_bits) - 1
    significand = np.where(biased > 0, fraction | 1 << fraction_bits, fraction)
    value = np.ldexp(significand.astype(np.float32), np.maximum(biased, 1) - bias - fraction_bits)
    return np.where(bits >> exponent_bits + fraction_bits & 1, -value, value).astype(np.float32)


ZERO_EXPONENT = -8000  # of a zero: never the largest


def exponents(values, least):
    """int16: of each number the exponent of its unit bit in a format whose normal numbers begin at 2^least."""
    mantissa, exponent = np.frexp(values)
    return np.where(mantissa == 0, ZERO_EXPONENT, np.maximum(exponent - 1, least)).astype(np.int16)


def _toward_zero(x):
    """f64 to f32, toward zero."""
    y = x.astype(np.float32)
    beyond = np.abs(y.astype(np.float64)) > np.abs(x)
    return np.where(beyond, np.nextafter(y, np.float32(0)), y)


def _add_products(a, b, exponents_a, exponents_b, c, fraction_bits, half):
    """One instruction: a [m, k] and b [k, n] f32 whose products f32 holds, c [m, n] f32."""
    largest = exponents(c, -14 if half else -126)
    sums = np.empty(c.shape, np.int16)
    for i in range(a.shape[1]):
        np.add(exponents_a[:, i, None], exponents_b[None, i], out=sums)
        np.maximum(largest, sums, out=largest)
    largest[largest < ZERO_EXPONENT // 2] = 0  # all are zeros
    unit = largest.astype(np.int32) - fraction_bits
    scale = np.ldexp(np.float32(1), -unit)
    total = np.trunc(c * scale).astype(np.float64)
    product = np.empty(c.shape, np.float32)
    for i in range(a.shape[1]):
        np.multiply(a[:, i, None], b[None, i], out=product)
        np.multiply(product, scale, out=product)
        np.trunc(product, out=product)
        total += product
    total = np.ldexp(total, unit)
    rounded = total.astype(np.float16).astype(np.float32) if half else _toward_zero(total)
    return rounded + np.float32(0)  # no -0


def tensor_product(a, b, k_step, least, c=None, scales=None, half=False, fraction_bits=25):
    """a @ b + c as tcgen05.mma sums it, with f32 D: for each k_step of K, products and D are aligned to the largest
    of their exponents, cut to `fraction_bits` below it toward zero, added exactly, and the sum is cut to f32.

    a [m, k] and b [k, n] are f32 arrays of finite numbers of the operands' formats, whose normal numbers begin at
    2^least[0] and 2^least[1]. `scales` are of ue8m0, as exponents: arrays [m, k / k_step] and [k / k_step, n] of
    integers. If `half`, D is f16, to nearest even. Magnitudes near the ends of f32 are not for this.
    """
    rows_at_once = 32  # what these take stays in the caches
    parts = []
    b = np.ascontiguousarray(b)
    exponents_b = exponents(b, least[1])
    for first in range(0, len(a), rows_at_once):
        rows = slice(first, first + rows_at_once)
        d = np.zeros((len(a[rows]), b.shape[1]), np.float32) if c is None else c[rows]
        exponents_a = exponents(a[rows], least[0])
        for i in range(a.shape[1] // k_step):
            of = slice(i * k_step, (i + 1) * k_step)
            part_a, part_b, part_exponents_a, part_exponents_b = a[rows, of], b[of], exponents_a[:, of], exponents_b[of]
            if scales is not None:
                scale_a, scale_b = scales[0][rows, i, None], scales[1][None, i]
                part_a, part_b = np.ldexp(part_a, scale_a), np.ldexp(part_b, scale_b)
                part_exponents_a = part_exponents_a + scale_a.astype(np.int16)
                part_exponents_b = part_exponents_b + scale_b.astype(np.int16)
            d = _add_products(part_a, part_b, part_exponents_a, part_exponents_b, d, fraction_bits, half)
        parts.append(d)
    return np.concatenate(parts)


def scaled_f4_product(a, b, scale_a, scale_b, least=-6):
    """a @ b as tcgen05.mma of kind mxf4nvf4 sums it, 64 of K at a time: exact sums of sixteen products, each times its
    two scale factors; these and D are aligned to the largest of the sums of the factors' exponents and D's, cut to 35
    bits below it, added exactly, and cut to f32.

    a [m, k] and b [k, n] have the values of e2m1, scale_a [m, k / 16] and scale_b [k / 16, n] those of ue4m3, or of
    ue8m0 with `least` -127, in f32.
    """
    exponents_a, exponents_b = exponents(scale_a, least), exponents(scale_b, least)
    d = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for first in range(0, scale_a.shape[1], 4):
        blocks = range(first, first + 4)
        largest = exponents(d, -126)
        for i in blocks:
            largest = np.maximum(largest, exponents_a[:, i, None] + exponents_b[None, i])
        largest[largest < ZERO_EXPONENT // 2] = 0  # all are zeros
        unit = largest.astype(np.int32) - 35
        total = np.trunc(np.ldexp(d.astype(np.float64), -unit))
        for i in blocks:
            of = slice(16 * i, 16 * i + 16)
            factor = scale_a[:, i, None].astype(np.float64) * scale_b[None, i]
            total += np.trunc(np.ldexp((a[:, of] @ b[of]) * factor, -unit))
        d = _toward_zero(np.ldexp(total, unit)) + np.float32(0)  # no -0
    return d


def exp2_approx(x):
    """ex2.approx.ftz.f32 of f32 numbers up to 127, with the table of src/numeric/mufu/ex2.inc."""
    path = pathlib.Path(__file__).resolve().parents[2] / "src/numeric/mufu/ex2.inc"
    table = np.array([[int(v) for v in line.split(",")[:3]] for line in path.read_text().splitlines()[1:]], np.int64)
    normal = x >= -126
    scaled = np.where(normal, x, 0).astype(np.float64) * 2**23
    q = np.where(scaled < 0, np.ceil(scaled), np.floor(scaled)).astype(np.int64)  # cut toward zero
    # Of a negative number with a fraction the one's complement of the fraction.
    borrow = (q < 0) & (-q & 0x7FFFFF != 0)
    magnitude = np.abs(q)
    whole = np.where(q < 0, -(magnitude >> 23), magnitude >> 23) - borrow
    fraction = (magnitude ^ np.where(borrow, 0x7FFFFF, 0)) & 0x7FFFFF
    c0, c1, c2 = (table[fraction >> 17, i] for i in range(3))
    part = fraction & 0x1FFFF
    upper, lower = part >> 9, part & 0x1FF
    square = upper * upper >> 1  # of the partial products of the square, those that are not too low
    for bit in range(1, 8):
        square += np.where(upper >> bit & 1, lower >> 9 - bit, 0)
    significand = (c0 << 13) + 0x77E2 + c1 * part + c2 * square >> 15
    power = ((126 + whole << 23) + significand).astype(np.uint32).view(np.float32)
    return np.where(normal, power, np.float32(0))


def _slow_product(terms, fraction_bits):
    """f32 bits of the sum of terms (value, exponent), aligned as tcgen05.mma aligns them."""
    largest = max((exponent for value, exponent in terms if value), default=0)
    unit = Fraction(2) ** (largest - fraction_bits)
    return f32.round(sum(math.trunc(value / unit) for value, _ in terms) * unit, "rz")


def _check_products(rng):
    def small(rows, columns):
        bits = rng.randint(0, 0x5000, (rows, columns)) | rng.randint(0, 2, (rows, columns)) << 15
        return bits.astype(np.uint16).view(np.float16)

    m, n, k = 8, 12, 16
    a, b = small(m, k), small(k, n)
    c = np.ldexp(rng.standard_normal((m, n)), rng.randint(-12, 12, (m, n))).astype(np.float32)
    least = (-14, -14)
    got = tensor_product(a.astype(np.float32), b.astype(np.float32), k, least, c)

    def term(x, least):
        return Fraction(float(x)), max(math.frexp(float(x))[1] - 1, least)

    for i in range(m):
        for j in range(n):
            factors = [(term(a[i, x], -14), term(b[x, j], -14)) for x in range(k)]
            terms = [(u[0] * v[0], u[1] + v[1]) for u, v in factors] + [term(c[i, j], -126)]
            assert _slow_product(terms, 25) == bits_of(got[i : i + 1, j])[0], "tensor_product"


def _self_check():
    rng = np.random.RandomState(7)
    n = 3000
    a, b = (
        rng.standard_normal(n).astype(np.float32) * np.float32(2) ** rng.randint(-20, 20, n) for _ in range(2)
    )
    a, b = a.astype(np.float32), b.astype(np.float32)
    c = (-a.astype(np.float64) * b).astype(np.float32) * rng.choice([1, 1 + 2**-22, 2.0**-24, 2.0**24], n)
    c = c.astype(np.float32)
    want = [f32.fma(*v) for v in zip(bits_of(a), bits_of(b), bits_of(c))]
    assert bits_of(fma32(a, b, c)) == want, "fma32"
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    c = -a * b * rng.choice([1, 1 + 2**-50, 2.0**-53, 2.0**53, 2.0**-54], n)
    want = [f64.fma(*v) for v in zip(bits_of(a), bits_of(b), bits_of(c))]
    assert bits_of(fma64(a, b, c)) == want, "fma64"
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    assert all(f16.round(f16.value(v), "rn", f16.negative(v)) == v for v in bits_of(halves)), "round f16"
    x = rng.standard_normal(n) * 2.0 ** rng.randint(-30, 20, n)
    assert [f16.round(f64.value(v)) for v in bits_of(x)] == bits_of(x.astype(np.float16)), "f64 to f16"
    assert [f32.round(f64.value(v)) for v in bits_of(x)] == bits_of(x.astype(np.float32)), "f64 to f32"
    x = np.abs(x)
    assert [f64.sqrt(v) for v in bits_of(x)] == bits_of(np.sqrt(x)), "sqrt"
    assert [f64.div(v, w) for v, w in zip(bits_of(x), bits_of(a))] == bits_of(x / a), "div"
    assert [f64.add(v, w) for v, w in zip(bits_of(x), bits_of(a))] == bits_of(x + a), "add"
    _check_products(rng)
    x = -np.arange(130).astype(np.float32)
    assert bits_of(exp2_approx(x)) == bits_of(np.where(x < -126, 0, np.ldexp(np.float32(1), x.astype(int)))), "exp2_approx"
    x = np.maximum(-rng.standard_normal(n).astype(np.float32) ** 2 * 8, np.float32(-126))
    assert (np.abs(exp2_approx(x) / np.exp2(x.astype(np.float64)) - 1) < 2.0**-22).all(), "exp2_approx"
    print("exact.py: the engines agree")


if __name__ == "__main__":
    _self_check()

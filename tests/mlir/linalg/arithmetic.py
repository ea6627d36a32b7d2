"""What operations of MLIR's arith make of numbers, in numpy: the reference of generated programs.

Floats are held as f64, one rounding after each operation; integers as int64, which wrap to their bits. Nearest even, as arith has it;
what is too large becomes an infinity or, of f8E4M3FN, a NaN.
"""

import numpy as np

# fraction bits, exponent of the least normal, the largest finite number, whether there are infinities
FORMATS = {
    "f16": (10, -14, 65504.0, True),
    "bf16": (7, -126, float.fromhex("0x1.fep127"), True),
    "f8E4M3FN": (3, -6, 448.0, False),
    "f8E5M2": (2, -14, 57344.0, True),
}
STORED = {"f16": "f2", "bf16": "u2", "f8E4M3FN": "u1", "f8E5M2": "u1", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8"}


def is_float(element):
    return not element.startswith("i")


def bits(element):
    return int("".join(c for c in element.split("E")[0] if c.isdigit()))


def tf32(values):
    """The nearest tf32, of two the even one."""
    return to_fraction(np.asarray(values, "f8"), 10, -126)


def to_fraction(values, fraction, least):
    mantissa, exponent = np.frexp(values)
    unit = np.ldexp(1.0, np.maximum(exponent - 1, least) - fraction)
    return np.where(np.isfinite(values), np.rint(values / unit) * unit, values)


def rounded(values, element):
    """Numbers as an element of that type holds them."""
    if not is_float(element):
        width = bits(element)
        wrapped = np.asarray(values).astype(np.int64)
        if width == 64:
            return wrapped
        low = wrapped & ((1 << width) - 1)
        return np.where(low >> (width - 1) & 1, low - (1 << width), low)
    values = np.asarray(values, "f8")
    if element == "f64":
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if element in ("f32", "f16"):
            return values.astype(STORED[element]).astype("f8")
        fraction, least, most, has_infinity = FORMATS[element]
        made = to_fraction(values, fraction, least)
        return np.where(np.abs(made) > most, np.copysign(np.inf, made) if has_infinity else np.nan, made)


def stored(values, element):
    """Such numbers as memory has them."""
    if element == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2")
    if not element.startswith("f8"):
        return values.astype(STORED[element])
    fraction, least, most, _ = FORMATS[element]
    magnitude = np.where(np.isfinite(values), np.abs(values), 0)
    exponent = np.maximum(np.frexp(magnitude)[1] - 1, least)
    steps = (magnitude / np.ldexp(1.0, exponent - fraction)).astype(int)  # from 0, or from 2^fraction on where it is normal
    code = np.where(steps >> fraction, ((exponent - least + 1) << fraction) + steps - (1 << fraction), steps)
    code = np.where(np.isinf(values), 0x7C, np.where(np.isnan(values), 0x7F, code))
    return (code | np.signbit(values) << 7).astype("u1")


def is_nan(array, element):
    if element == "bf16":
        return (array & 0x7FFF) > 0x7F80
    if element == "f8E5M2":
        return (array & 0x7F) > 0x7C
    if element == "f8E4M3FN":
        return (array & 0x7F) == 0x7F
    return np.isnan(array) if is_float(element) else np.zeros(array.shape, bool)


def agree(got, want, element):
    """Where two arrays have the same bits; which NaN it is, nobody owes."""
    word = f"u{got.dtype.itemsize}"
    return (got.view(word) == want.view(word)) | (is_nan(got, element) & is_nan(want, element))

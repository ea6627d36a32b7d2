// IEEE 754 in integers, one shape for all operations: decode both operands, settle NaNs, infinities and
// zeros, compute a significand of up to 128 bits that is exact but for a sticky last bit, and let encode()
// (format.h) round it once. What the PTX ISA adds stands around that: .ftz in input(), .sat and .relu in
// finish(). Read add() and encode_sum() first; nan_result() has what was measured about NaNs.
#include "numeric/arithmetic.h"

#include <utility>

namespace lemma::numeric {
namespace {

using u128 = unsigned __int128;

EncodeOptions encode_options(const ArithmeticOptions& options) {
  EncodeOptions encoding;
  encoding.rounding = options.rounding;
  encoding.ftz = options.ftz;
  return encoding;
}

uint64_t input(FloatFormat format, uint64_t bits, bool ftz) {
  bits &= traits(format).storage_mask();
  return ftz ? flush_subnormal(format, bits) : bits;
}

// .sat and .relu, applied to the rounded result.
uint64_t finish(FloatFormat format, uint64_t bits, const ArithmeticOptions& options) {
  if (!options.sat && !options.relu)
    return bits;
  const FormatTraits& t = traits(format);
  if (is_nan(format, bits))
    return options.sat ? 0 : t.canonical_nan();
  if ((bits & t.sign_mask()) != 0)
    return 0;
  const uint64_t one = static_cast<uint64_t>(t.bias) << t.fraction_field_bits();
  return options.sat && bits > one ? one : bits;
}

// Operands as nan_result() wants them.
template <class... Bits>
uint64_t finish_nan(FloatFormat format, const ArithmeticOptions& options, Bits... operands) {
  const uint64_t list[] = {operands..., 0};
  return finish(format, nan_result(format, list, sizeof...(operands)), options);
}

Exact exact(const Decoded& value) {
  return {value.sign, value.exponent, value.significand};
}

u128 shift_right_sticky(u128 value, int shift) {
  if (shift == 0)
    return value;
  if (shift > 127)
    return value != 0;
  return (value >> shift) | ((value << (128 - shift)) != 0);
}

// x + y; neither is zero. The larger is moved up to bit 124, so that either nothing of the smaller is lost
// (operands have at most 106 bits) or the sum keeps more than 120 bits above the sticky one. Significand 0 if
// they cancel.
Exact sum(Exact x, Exact y) {
  int x_top = highest_bit(x.significand), y_top = highest_bit(y.significand);
  if (x.exponent + x_top < y.exponent + y_top) {
    std::swap(x, y);
    std::swap(x_top, y_top);
  }
  x.significand <<= 124 - x_top;
  x.exponent -= 124 - x_top;
  y.significand <<= 124 - y_top;
  y.exponent -= 124 - y_top;
  y.significand = shift_right_sticky(y.significand, x.exponent - y.exponent);
  if (x.sign == y.sign) {
    x.significand += y.significand;
  } else if (x.significand >= y.significand) {
    x.significand -= y.significand;
  } else { // same exponent, larger significand
    x.significand = y.significand - x.significand;
    x.sign = y.sign;
  }
  return x;
}

// The sign of an exact zero sum of terms with these signs.
bool zero_sum_sign(bool x, bool y, Rounding rounding) {
  return x == y ? x : rounding == Rounding::rm;
}

uint64_t encode_sum(FloatFormat format, const Exact& x, const Exact& y, const ArithmeticOptions& options) {
  if (x.significand == 0 && y.significand == 0)
    return encode_zero(format, zero_sum_sign(x.sign, y.sign, options.rounding));
  if (x.significand == 0)
    return encode(format, y, encode_options(options));
  if (y.significand == 0)
    return encode(format, x, encode_options(options));
  const Exact result = sum(x, y);
  if (result.significand == 0)
    return encode_zero(format, options.rounding == Rounding::rm);
  return encode(format, result, encode_options(options));
}

bool is_zero(const Decoded& value) {
  return value.float_class == FloatClass::zero;
}
bool is_infinite(const Decoded& value) {
  return value.float_class == FloatClass::infinity;
}

// The largest integer whose square is at most `value`.
u128 integer_sqrt(u128 value) {
  u128 root = 0;
  for (u128 bit = u128{1} << 62; bit != 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= value)
      root += bit;
  return root;
}

// Magnitudes as integers order like the numbers; this extends it to signs, -0 below +0. Not for NaN.
int64_t total_order(FloatFormat format, uint64_t bits) {
  const FormatTraits& t = traits(format);
  const auto magnitude = static_cast<int64_t>(bits & t.magnitude_mask());
  return (bits & t.sign_mask()) != 0 ? -magnitude - 1 : magnitude;
}

uint64_t min_max(FloatFormat format, uint64_t a, uint64_t b, const MinMaxOptions& options, bool want_max) {
  const FormatTraits& t = traits(format);
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  const uint64_t xor_sign = (a ^ b) & t.sign_mask();
  if (options.xorsign_abs) {
    a &= t.magnitude_mask();
    b &= t.magnitude_mask();
  }
  const bool a_nan = is_nan(format, a), b_nan = is_nan(format, b);
  if ((a_nan && b_nan) || (options.nan && (a_nan || b_nan))) {
    const uint64_t list[] = {b, a};
    return nan_result(format, list, 2);
  }
  const bool b_is_further = (total_order(format, b) > total_order(format, a)) == want_max;
  const uint64_t result = a_nan || (!b_nan && b_is_further) ? b : a;
  return options.xorsign_abs ? (result & t.magnitude_mask()) | xor_sign : result;
}

} // namespace

// f32: 0x7fffffff, f16 and bf16: 0x7fff, as the PTX ISA says. f64, measured on an H200: a NaN operand stays,
// sign and payload, made quiet, signalling or not: of add, sub and mul b before a, of fma (and the matrix
// instructions) b before c before a, of div a before b. An invalid operation gives the negative quiet NaN
// without payload.
uint64_t nan_result(FloatFormat format, const uint64_t* operands, int count) {
  if (format != FloatFormat::f64)
    return encode_nan(format);
  for (int i = 0; i < count; ++i)
    if (is_nan(format, operands[i]))
      return operands[i] | uint64_t{1} << 51;
  return 0xfff8000000000000;
}

uint64_t flush_subnormal(FloatFormat format, uint64_t bits) {
  const FormatTraits& t = traits(format);
  return (bits & t.magnitude_mask()) < t.min_normal() ? bits & t.sign_mask() : bits;
}

uint64_t add(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  const Decoded x = decode(format, a), y = decode(format, b);
  if (x.float_class == FloatClass::nan || y.float_class == FloatClass::nan)
    return finish_nan(format, options, b, a);
  if (is_infinite(x) || is_infinite(y)) {
    if (is_infinite(x) && is_infinite(y) && x.sign != y.sign)
      return finish_nan(format, options);
    return finish(format, encode_infinity(format, is_infinite(x) ? x.sign : y.sign), options);
  }
  return finish(format, encode_sum(format, exact(x), exact(y), options), options);
}

uint64_t sub(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  // A NaN operand keeps its own sign.
  return add(format, a, is_nan(format, b) ? b : b ^ traits(format).sign_mask(), options);
}

uint64_t mul(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  const Decoded x = decode(format, a), y = decode(format, b);
  const bool sign = x.sign != y.sign;
  if (x.float_class == FloatClass::nan || y.float_class == FloatClass::nan)
    return finish_nan(format, options, b, a);
  if ((is_infinite(x) && is_zero(y)) || (is_zero(x) && is_infinite(y)))
    return finish_nan(format, options);
  if (is_infinite(x) || is_infinite(y))
    return finish(format, encode_infinity(format, sign), options);
  const Exact product{sign, x.exponent + y.exponent, u128{x.significand} * y.significand};
  return finish(format, encode(format, product, encode_options(options)), options);
}

uint64_t fma(FloatFormat format, uint64_t a, uint64_t b, uint64_t c, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  c = input(format, c, options.ftz);
  if (options.oob && (is_oob_nan(a) || is_oob_nan(b)))
    return 0;
  const Decoded x = decode(format, a), y = decode(format, b), z = decode(format, c);
  const bool sign = x.sign != y.sign;
  if (x.float_class == FloatClass::nan || y.float_class == FloatClass::nan ||
      z.float_class == FloatClass::nan)
    return finish_nan(format, options, b, c, a);
  if ((is_infinite(x) && is_zero(y)) || (is_zero(x) && is_infinite(y)))
    return finish_nan(format, options);
  if (is_infinite(x) || is_infinite(y)) {
    if (is_infinite(z) && z.sign != sign)
      return finish_nan(format, options);
    return finish(format, encode_infinity(format, sign), options);
  }
  if (is_infinite(z))
    return finish(format, encode_infinity(format, z.sign), options);
  const Exact product{sign, x.exponent + y.exponent, u128{x.significand} * y.significand};
  return finish(format, encode_sum(format, product, exact(z), options), options);
}

uint64_t div(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  const Decoded x = decode(format, a), y = decode(format, b);
  const bool sign = x.sign != y.sign;
  if (x.float_class == FloatClass::nan || y.float_class == FloatClass::nan)
    return finish_nan(format, options, a, b);
  if ((is_infinite(x) && is_infinite(y)) || (is_zero(x) && is_zero(y)))
    return finish_nan(format, options);
  if (is_infinite(x) || is_zero(y))
    return finish(format, encode_infinity(format, sign), options);
  if (is_zero(x) || is_infinite(y))
    return finish(format, encode_zero(format, sign), options);
  // A dividend of 126 bits over at most 53 leaves a quotient of at least 72 above the sticky bit.
  const int up = 125 - highest_bit(x.significand);
  const u128 dividend = u128{x.significand} << up;
  const u128 quotient = dividend / y.significand;
  const bool inexact = quotient * y.significand != dividend;
  const Exact result{sign, x.exponent - up - y.exponent, quotient | inexact};
  return finish(format, encode(format, result, encode_options(options)), options);
}

uint64_t rcp(FloatFormat format, uint64_t a, const ArithmeticOptions& options) {
  const FormatTraits& t = traits(format);
  return div(format, static_cast<uint64_t>(t.bias) << t.fraction_field_bits(), a, options);
}

uint64_t sqrt(FloatFormat format, uint64_t a, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  const Decoded x = decode(format, a);
  if (x.float_class == FloatClass::nan)
    return finish_nan(format, options, a);
  if (is_zero(x))
    return finish(format, a, options);
  if (x.sign)
    return finish_nan(format, options);
  if (is_infinite(x))
    return finish(format, a, options);
  // A radicand of 124 or 125 bits with an even exponent has a root of 62 or 63.
  int up = 124 - highest_bit(x.significand);
  if (((x.exponent - up) & 1) != 0)
    --up;
  const u128 radicand = u128{x.significand} << up;
  const u128 root = integer_sqrt(radicand);
  const Exact result{false, (x.exponent - up) / 2 - 1, (root << 1) | (root * root != radicand)};
  return finish(format, encode(format, result, encode_options(options)), options);
}

uint64_t min(FloatFormat format, uint64_t a, uint64_t b, const MinMaxOptions& options) {
  return min_max(format, a, b, options, false);
}

uint64_t max(FloatFormat format, uint64_t a, uint64_t b, const MinMaxOptions& options) {
  return min_max(format, a, b, options, true);
}

uint64_t abs(FloatFormat format, uint64_t a, bool ftz) {
  return is_nan(format, a) ? nan_result(format, &a, 1) : input(format, a, ftz) & ~traits(format).sign_mask();
}

uint64_t neg(FloatFormat format, uint64_t a, bool ftz) {
  return is_nan(format, a) ? nan_result(format, &a, 1) : input(format, a, ftz) ^ traits(format).sign_mask();
}

Ordering compare(FloatFormat format, uint64_t a, uint64_t b, bool ftz) {
  a = input(format, a, ftz);
  b = input(format, b, ftz);
  if (is_nan(format, a) || is_nan(format, b))
    return Ordering::unordered;
  if (((a | b) & traits(format).magnitude_mask()) == 0)
    return Ordering::equal;
  const int64_t x = total_order(format, a), y = total_order(format, b);
  return x < y ? Ordering::less : x > y ? Ordering::greater : Ordering::equal;
}

} // namespace lemma::numeric

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
  encoding.satfinite = options.satfinite;
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

namespace {

uint64_t infinity(FloatFormat format, bool sign, const ArithmeticOptions& options) {
  const FormatTraits& t = traits(format);
  return finish(
      format, options.satfinite ? (sign ? t.sign_mask() : 0) | t.max_finite() : encode_infinity(format, sign),
      options);
}

// Of numbers, none of them NaN: a sum, and a product with something to add to it.
uint64_t add_numbers(FloatFormat to, const Decoded& x, const Decoded& y, const ArithmeticOptions& options) {
  if (is_infinite(x) && is_infinite(y) && x.sign != y.sign)
    return finish_nan(to, options);
  if (is_infinite(x) || is_infinite(y))
    return infinity(to, is_infinite(x) ? x.sign : y.sign, options);
  return finish(to, encode_sum(to, exact(x), exact(y), options), options);
}

struct Product {
  bool is_invalid = false, is_infinite = false;
  Exact value; // its sign, if it is infinite
};
Product multiply(const Decoded& x, const Decoded& y) {
  const bool any_infinite = is_infinite(x) || is_infinite(y);
  return {any_infinite && (is_zero(x) || is_zero(y)),
          any_infinite,
          {x.sign != y.sign, x.exponent + y.exponent, u128{x.significand} * y.significand}};
}

uint64_t mul_numbers(FloatFormat to, const Decoded& x, const Decoded& y, const ArithmeticOptions& options) {
  const Product product = multiply(x, y);
  if (product.is_invalid)
    return finish_nan(to, options);
  if (product.is_infinite)
    return infinity(to, product.value.sign, options);
  return finish(to, encode(to, product.value, encode_options(options)), options);
}

uint64_t fma_numbers(FloatFormat to, const Decoded& x, const Decoded& y, const Decoded& z,
                     const ArithmeticOptions& options) {
  const Product product = multiply(x, y);
  if (product.is_invalid || (product.is_infinite && is_infinite(z) && z.sign != product.value.sign))
    return finish_nan(to, options);
  if (product.is_infinite || is_infinite(z))
    return infinity(to, product.is_infinite ? product.value.sign : z.sign, options);
  return finish(to, encode_sum(to, product.value, exact(z), options), options);
}

bool is_nan(Operand a) {
  return numeric::is_nan(a.format, a.bits);
}
Decoded decode(Operand a) {
  return numeric::decode(a.format, a.bits);
}

} // namespace

uint64_t add(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  if (is_nan(format, a) || is_nan(format, b))
    return finish_nan(format, options, b, a);
  return add_numbers(format, decode(format, a), decode(format, b), options);
}

uint64_t sub(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  // A NaN operand keeps its own sign.
  return add(format, a, is_nan(format, b) ? b : b ^ traits(format).sign_mask(), options);
}

uint64_t mul(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  if (is_nan(format, a) || is_nan(format, b))
    return finish_nan(format, options, b, a);
  return mul_numbers(format, decode(format, a), decode(format, b), options);
}

uint64_t fma(FloatFormat format, uint64_t a, uint64_t b, uint64_t c, const ArithmeticOptions& options) {
  a = input(format, a, options.ftz);
  b = input(format, b, options.ftz);
  c = input(format, c, options.ftz);
  if (options.oob && (is_oob_nan(a) || is_oob_nan(b)))
    return 0;
  if (is_nan(format, a) || is_nan(format, b) || is_nan(format, c))
    return finish_nan(format, options, b, c, a);
  return fma_numbers(format, decode(format, a), decode(format, b), decode(format, c), options);
}

uint64_t add_mixed(FloatFormat to, Operand a, Operand b, const ArithmeticOptions& options) {
  return is_nan(a) || is_nan(b) ? finish(to, encode_nan(to), options)
                                : add_numbers(to, decode(a), decode(b), options);
}
uint64_t mul_mixed(FloatFormat to, Operand a, Operand b, const ArithmeticOptions& options) {
  return is_nan(a) || is_nan(b) ? finish(to, encode_nan(to), options)
                                : mul_numbers(to, decode(a), decode(b), options);
}
uint64_t fma_mixed(FloatFormat to, Operand a, Operand b, Operand c, const ArithmeticOptions& options) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? finish(to, encode_nan(to), options)
                                             : fma_numbers(to, decode(a), decode(b), decode(c), options);
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

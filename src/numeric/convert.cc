// One path for all pairs of formats: decode, then encode() rounds once, then the modifiers; integers go by
// way of 128 bits. NaNs are the one irregular part, and what the hardware was seen to make of them is in
// convert_nan() alone. In which order special values and modifiers act is in convert_float().
#include "numeric/convert.h"

#include "numeric/arithmetic.h"

namespace lemma::numeric {
namespace {

using u128 = unsigned __int128;

// What becomes of a NaN; the one place that says so. Measured on an H200:
//  - from and to f64 it keeps its sign and the upper bits of its payload, made quiet;
//  - but .ftz makes that of an f32 canonical before it becomes one of f64 (0x7fffffffe0000000);
//  - from bf16 to f32 its bits move, signalling or not, unless .ftz asks for arithmetic;
//  - .rna to tf32 cuts its low bits, which may leave infinity, and then .satfinite takes one unit away;
//  - elsewhere it is canonical.
uint64_t convert_nan(FloatFormat to, FloatFormat from, uint64_t bits, const ConvertOptions& options) {
  const bool canonical_input = options.ftz && from == FloatFormat::f32;
  if (to == from)
    return nan_result(to, &bits, 1);
  if (to == FloatFormat::f64 || from == FloatFormat::f64) {
    const FormatTraits &t = traits(to), &f = traits(from);
    if (canonical_input)
      bits = f.canonical_nan();
    const uint64_t fraction = bits & (f.min_normal() - 1);
    const int up = t.fraction_field_bits() - f.fraction_field_bits();
    const uint64_t quiet = t.infinity() | t.min_normal() >> 1;
    return ((bits & f.sign_mask()) != 0 ? t.sign_mask() : 0) | quiet |
           (up >= 0 ? fraction << up : fraction >> -up);
  }
  if (to == FloatFormat::f32 && from == FloatFormat::bf16 && !options.ftz)
    return bits << 16;
  if (to == FloatFormat::tf32 && from == FloatFormat::f32 && options.rounding == Rounding::rna) {
    const uint64_t unit = uint64_t{1} << traits(to).padding_bits;
    return (bits & ~(unit - 1)) - (options.satfinite ? unit : 0);
  }
  return encode_nan(to);
}

// Whether .ftz is of the input too.
bool flushes_input(FloatFormat to, FloatFormat from) {
  return (from == FloatFormat::f32 && to != FloatFormat::f16) ||
         (from == FloatFormat::bf16 && to == FloatFormat::f32);
}

// .relu and .sat on a number in the destination format.
uint64_t clamp(FloatFormat to, uint64_t bits, const ConvertOptions& options) {
  const FormatTraits& t = traits(to);
  if (!options.sat && !options.relu)
    return bits;
  if ((bits & t.sign_mask()) != 0)
    return 0;
  const uint64_t one = static_cast<uint64_t>(t.bias) << t.fraction_field_bits();
  return options.sat && bits > one ? one : bits;
}

EncodeOptions encode_options(FloatFormat to, const ConvertOptions& options) {
  EncodeOptions encoding;
  encoding.rounding = options.rounding;
  encoding.satfinite = options.satfinite;
  encoding.ftz = options.ftz && to == FloatFormat::f32;
  encoding.random = options.random;
  encoding.random_bits = options.random_bits;
  return encoding;
}

uint64_t low_bits(uint64_t value, int count) {
  return count == 64 ? value : value & ((uint64_t{1} << count) - 1);
}

// The value of the low bits, sign- or zero-extended.
__int128 extend(IntegerFormat format, uint64_t bits) {
  const int width = width_bits(format);
  const uint64_t value = low_bits(bits, width);
  const bool negative = is_signed(format) && (value >> (width - 1)) != 0;
  return static_cast<__int128>(value) - (negative ? __int128{1} << width : 0);
}

uint64_t saturate(IntegerFormat to, __int128 value) {
  const int width = width_bits(to);
  const __int128 lowest = is_signed(to) ? -(__int128{1} << (width - 1)) : 0;
  const __int128 highest = (__int128{1} << (is_signed(to) ? width - 1 : width)) - 1;
  const __int128 clamped = value < lowest ? lowest : value > highest ? highest : value;
  return low_bits(static_cast<uint64_t>(clamped), width);
}

// A finite value's magnitude as an integer; anything of 2^70 and above stands for "too large".
u128 integer_magnitude(const Decoded& value, Rounding rounding) {
  EncodeOptions options;
  options.rounding = rounding;
  if (value.exponent < 0)
    return round_shift(value.significand, -value.exponent, value.sign, options);
  return value.exponent > 64 ? u128{1} << 70 : u128{value.significand} << value.exponent;
}

} // namespace

uint64_t convert_float(FloatFormat to, FloatFormat from, uint64_t bits, const ConvertOptions& options) {
  bits &= traits(from).storage_mask();
  if (options.ftz && flushes_input(to, from))
    bits = flush_subnormal(from, bits);
  const Decoded value = decode(from, bits);
  switch (value.float_class) {
  case FloatClass::nan:
    if (options.sat)
      return 0;
    return options.relu ? encode_nan(to) : convert_nan(to, from, bits, options);
  case FloatClass::infinity: {
    const FormatTraits& t = traits(to);
    const uint64_t largest = (value.sign ? t.sign_mask() : 0) | t.max_finite();
    return clamp(to, options.satfinite ? largest : encode_infinity(to, value.sign), options);
  }
  case FloatClass::zero:
    return clamp(to, encode_zero(to, value.sign), options);
  case FloatClass::finite:
    break;
  }
  const Exact exact{value.sign, value.exponent + options.exponent, value.significand};
  return clamp(to, encode(to, exact, encode_options(to, options)), options);
}

uint64_t float_to_integer(IntegerFormat to, FloatFormat from, uint64_t bits, Rounding rounding, bool ftz) {
  bits &= traits(from).storage_mask();
  if (ftz && from == FloatFormat::f32)
    bits = flush_subnormal(from, bits);
  const Decoded value = decode(from, bits);
  switch (value.float_class) {
  case FloatClass::nan: {
    const bool zero = from != FloatFormat::f64 && width_bits(to) != 64;
    return zero ? 0 : uint64_t{1} << (width_bits(to) - 1);
  }
  case FloatClass::infinity:
    return saturate(to, value.sign ? -(__int128{1} << 70) : __int128{1} << 70);
  case FloatClass::zero:
    return 0;
  case FloatClass::finite:
    break;
  }
  const u128 magnitude = integer_magnitude(value, rounding);
  const __int128 integer = static_cast<__int128>(magnitude);
  return saturate(to, value.sign ? -integer : integer);
}

uint64_t integer_to_float(FloatFormat to, IntegerFormat from, uint64_t bits, const ConvertOptions& options) {
  const __int128 value = extend(from, bits);
  const Exact exact{value < 0, options.exponent, static_cast<u128>(value < 0 ? -value : value)};
  return clamp(to, encode(to, exact, encode_options(to, options)), options);
}

constexpr int kS2f6FractionBits = 6;

uint64_t float_to_s2f6(FloatFormat from, uint64_t bits, const ConvertOptions& options) {
  Decoded value = decode(from, bits & traits(from).storage_mask());
  if (value.float_class == FloatClass::nan)
    return saturate(IntegerFormat::s8, __int128{1} << 70);
  if (value.float_class == FloatClass::zero || (value.sign && options.relu))
    return 0;
  value.exponent += options.exponent + kS2f6FractionBits;
  const __int128 magnitude = value.float_class == FloatClass::infinity
                                 ? __int128{1} << 70
                                 : static_cast<__int128>(integer_magnitude(value, options.rounding));
  return saturate(IntegerFormat::s8, value.sign ? -magnitude : magnitude);
}

uint64_t s2f6_to_float(FloatFormat to, uint64_t bits, const ConvertOptions& options) {
  ConvertOptions of_integer = options;
  of_integer.exponent -= kS2f6FractionBits;
  return integer_to_float(to, IntegerFormat::s8, bits, of_integer);
}

uint64_t integer_to_integer(IntegerFormat to, IntegerFormat from, uint64_t bits, bool sat) {
  const __int128 value = extend(from, bits);
  return sat ? saturate(to, value) : low_bits(static_cast<uint64_t>(value), width_bits(to));
}

uint64_t round_to_integral(FloatFormat format, uint64_t bits, Rounding rounding, bool ftz, bool sat) {
  bits &= traits(format).storage_mask();
  if (ftz && format == FloatFormat::f32)
    bits = flush_subnormal(format, bits);
  ConvertOptions options;
  options.sat = sat;
  const Decoded value = decode(format, bits);
  if (value.float_class != FloatClass::finite || value.exponent >= 0)
    return convert_float(format, format, bits, options);
  const Exact exact{value.sign, 0, integer_magnitude(value, rounding)};
  return clamp(format, encode(format, exact), options);
}

int stochastic_bits(FloatFormat to) {
  return to == FloatFormat::f16 ? 13 : 16;
}

} // namespace lemma::numeric

// decode() and encode(), driven by a row of FormatTraits: no format has code of its own. encode() is how
// scalar code rounds, everywhere: round_shift() has the six roundings, .ftz and overflow are decided around
// it. The vector loops have faster ways, and are tested against it. Subnormals need no branch, since the
// exponent of the last place is the larger of the value's and the format's least.
#include "numeric/format.h"

#include <algorithm>

namespace lemma::numeric {
namespace {

using u128 = unsigned __int128;

// What a result beyond the largest finite number becomes.
uint64_t encode_overflow(FloatFormat format, bool sign, const EncodeOptions& options) {
  const FormatTraits& t = traits(format);
  const bool to_largest = options.satfinite || options.rounding == Rounding::rz ||
                          (options.rounding == Rounding::rm && !sign) ||
                          (options.rounding == Rounding::rp && sign);
  if (to_largest)
    return (sign ? t.sign_mask() : 0) | t.max_finite();
  return encode_infinity(format, sign);
}

} // namespace

std::optional<FloatFormat> float_format_of(std::string_view name) {
  for (const FormatTraits& t : kFormatTraits)
    if (t.name == name)
      return static_cast<FloatFormat>(&t - kFormatTraits);
  return std::nullopt;
}

std::string_view to_string(IntegerFormat format) {
  constexpr std::string_view names[] = {"u4", "s4", "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
  return names[static_cast<size_t>(format)];
}

Decoded decode(FloatFormat format, uint64_t bits) {
  const FormatTraits& t = traits(format);
  const uint64_t fraction_mask = (uint64_t{1} << t.mantissa_bits) - 1;
  const uint64_t magnitude = (bits & t.magnitude_mask()) >> t.padding_bits;
  const uint64_t fraction = magnitude & fraction_mask;
  const int biased = static_cast<int>(magnitude >> t.mantissa_bits);

  Decoded value;
  value.sign = (bits & t.sign_mask()) != 0;
  value.significand = fraction;
  if (is_nan(format, bits)) {
    value.float_class = FloatClass::nan;
    return value;
  }
  if (t.has_infinity() && biased == t.max_biased_exponent()) {
    value.float_class = FloatClass::infinity;
    return value;
  }
  if (t.has_zero && magnitude == 0)
    return value;
  value.float_class = FloatClass::finite;
  value.exponent = std::max(biased, t.has_zero ? 1 : 0) - t.bias - t.mantissa_bits;
  if (biased != 0 || !t.has_zero)
    value.significand |= fraction_mask + 1;
  return value;
}

u128 round_shift(u128 significand, int shift, bool sign, const EncodeOptions& options) {
  if (shift > 126) { // all of it lies below a quarter of the last place, and below all random bits
    significand = significand != 0 && options.rounding != Rounding::rs;
    shift = 2;
  }
  const u128 kept = significand >> shift;
  const u128 dropped = significand - (kept << shift);
  const u128 half = u128{1} << (shift - 1);
  switch (options.rounding) {
  case Rounding::rn:
    return kept + (dropped > half || (dropped == half && (kept & 1) != 0));
  case Rounding::rz:
    return kept;
  case Rounding::rm:
    return kept + (sign && dropped != 0);
  case Rounding::rp:
    return kept + (!sign && dropped != 0);
  case Rounding::rna:
    return kept + (dropped >= half);
  case Rounding::rs: {
    const int below = shift - options.random_bits;
    const u128 top = below >= 0 ? dropped >> below : dropped << -below;
    return kept + ((top + options.random) >> options.random_bits);
  }
  }
  return kept;
}

namespace {

// A value below the normal range under .ftz: the smallest normal number if rounding, at the value's own
// exponent, carries up to it, else zero.
uint64_t encode_tiny_flushed(FloatFormat format, const Exact& value, int exponent,
                             const EncodeOptions& options) {
  const FormatTraits& t = traits(format);
  const int shift = exponent - t.mantissa_bits - value.exponent;
  const bool carries =
      shift > 0 && round_shift(value.significand, shift, value.sign, options) >> (t.mantissa_bits + 1) != 0;
  if (!carries || exponent + 1 != t.min_exponent())
    return encode_zero(format, value.sign);
  return (value.sign ? t.sign_mask() : 0) | t.min_normal();
}

} // namespace

uint64_t encode(FloatFormat format, const Exact& value, const EncodeOptions& options) {
  const FormatTraits& t = traits(format);
  // Before rounding: rp takes -3 to 4 in a format without signs. cuda_fp8.h says that of ue8m0, whose values
  // it makes by one cvt.rp.
  const bool sign = value.sign && t.is_signed;
  if (value.significand == 0)
    return encode_zero(format, sign);
  const int exponent = value.exponent + highest_bit(value.significand);
  if (options.ftz && exponent < t.min_exponent())
    return encode_tiny_flushed(format, value, exponent, options);
  // The exponent of the last place of the result, as long as rounding does not carry.
  const int last_place = std::max(exponent, t.min_exponent()) - t.mantissa_bits;
  // The largest exponent field with a number; rounding carries at most into the one above.
  if (exponent > t.max_biased_exponent() - t.has_infinity() - t.bias)
    return encode_overflow(format, sign, options);

  const int shift = last_place - value.exponent;
  const u128 rounded =
      shift > 0 ? round_shift(value.significand, shift, sign, options) : value.significand << -shift;
  // The leading bit, where there is one, adds the missing one to the exponent field; so does a carry.
  const int64_t field = int64_t{last_place + t.mantissa_bits + t.bias - 1} << t.mantissa_bits;
  const int64_t magnitude = std::max<int64_t>(field + static_cast<int64_t>(rounded), 0);
  const auto bits = static_cast<uint64_t>(magnitude) << t.padding_bits;
  if (bits > t.max_finite())
    return encode_overflow(format, sign, options);
  return (sign ? t.sign_mask() : 0) | bits;
}

uint64_t encode_zero(FloatFormat format, bool sign) {
  return sign ? traits(format).sign_mask() : 0;
}

uint64_t encode_infinity(FloatFormat format, bool sign) {
  const FormatTraits& t = traits(format);
  if (t.nan == NanEncoding::all_ones)
    return (sign ? t.sign_mask() : 0) | t.canonical_nan();
  return (sign ? t.sign_mask() : 0) | (t.has_infinity() ? t.infinity() : t.max_finite());
}

uint64_t encode_nan(FloatFormat format) {
  const FormatTraits& t = traits(format);
  return t.has_nan() ? t.canonical_nan() : t.max_finite();
}

} // namespace lemma::numeric

// Formats: every encoding of those up to 16 bits decodes to the value that the definition gives in double
// arithmetic and encodes back; limits; rounding into each format against a search for the neighbours.
#include "numeric/format.h"

#include "numeric/hash.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lemma::numeric {
namespace {

// The value by the textbook definition, for formats whose values a double holds.
double definition(FloatFormat format, uint64_t bits) {
  const FormatTraits& t = traits(format);
  const uint64_t fraction = bits & ((1u << t.mantissa_bits) - 1);
  const int biased = static_cast<int>(bits >> t.mantissa_bits & ((1u << t.exponent_bits) - 1));
  const double sign = (bits & t.sign_mask()) != 0 ? -1.0 : 1.0;
  const double ulp = std::ldexp(1.0, -t.mantissa_bits);
  if (biased == 0 && t.has_zero)
    return sign * std::ldexp(static_cast<double>(fraction) * ulp, 1 - t.bias);
  return sign * std::ldexp(1.0 + static_cast<double>(fraction) * ulp, biased - t.bias);
}

double value_of(const Decoded& value) {
  return (value.sign ? -1.0 : 1.0) * std::ldexp(static_cast<double>(value.significand), value.exponent);
}

constexpr FloatFormat kNarrow[] = {FloatFormat::f16,  FloatFormat::bf16,  FloatFormat::e4m3,
                                   FloatFormat::e5m2, FloatFormat::e2m3,  FloatFormat::e3m2,
                                   FloatFormat::e2m1, FloatFormat::ue8m0, FloatFormat::ue4m3};

TEST(Format, EveryNarrowEncodingRoundTrips) {
  for (const FloatFormat format : kNarrow) {
    const FormatTraits& t = traits(format);
    int nans = 0, infinities = 0;
    for (uint64_t bits = 0; bits <= (t.magnitude_mask() | t.sign_mask()); ++bits) {
      const Decoded value = decode(format, bits);
      ASSERT_EQ(value.float_class == FloatClass::nan, is_nan(format, bits));
      if (value.float_class == FloatClass::nan) {
        ++nans;
      } else if (value.float_class == FloatClass::infinity) {
        ++infinities;
        ASSERT_EQ(encode_infinity(format, value.sign), bits);
      } else if (value.float_class == FloatClass::zero) {
        ASSERT_EQ(encode_zero(format, value.sign), bits);
      } else {
        ASSERT_EQ(value_of(value), definition(format, bits)) << t.name << " " << bits;
        for (const Rounding rounding :
             {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna})
          ASSERT_EQ(encode(format, {value.sign, value.exponent, value.significand}, {.rounding = rounding}),
                    bits);
      }
    }
    const int signs = t.is_signed ? 2 : 1;
    EXPECT_EQ(infinities, t.has_infinity() ? signs : 0) << t.name;
    const int ieee_nans = signs * ((1 << t.mantissa_bits) - 1);
    EXPECT_EQ(nans, t.nan == NanEncoding::ieee       ? ieee_nans
                    : t.nan == NanEncoding::all_ones ? signs
                                                     : 0)
        << t.name;
  }
}

TEST(Format, KnownLimits) {
  EXPECT_EQ(value_of(decode(FloatFormat::e4m3, traits(FloatFormat::e4m3).max_finite())), 448);
  EXPECT_EQ(value_of(decode(FloatFormat::e5m2, traits(FloatFormat::e5m2).max_finite())), 57344);
  EXPECT_EQ(value_of(decode(FloatFormat::e2m3, traits(FloatFormat::e2m3).max_finite())), 7.5);
  EXPECT_EQ(value_of(decode(FloatFormat::e3m2, traits(FloatFormat::e3m2).max_finite())), 28);
  EXPECT_EQ(value_of(decode(FloatFormat::e2m1, traits(FloatFormat::e2m1).max_finite())), 6);
  EXPECT_EQ(value_of(decode(FloatFormat::f16, traits(FloatFormat::f16).max_finite())), 65504);
  EXPECT_EQ(value_of(decode(FloatFormat::ue8m0, 0)), std::ldexp(1.0, -127));
  EXPECT_EQ(value_of(decode(FloatFormat::ue8m0, 0xfe)), std::ldexp(1.0, 127));
  EXPECT_EQ(traits(FloatFormat::tf32).max_finite(), 0x7f7fe000u);
  EXPECT_EQ(traits(FloatFormat::f32).max_finite(), 0x7f7fffffu);
  EXPECT_EQ(traits(FloatFormat::f32).canonical_nan(), 0x7fffffffu);
  EXPECT_EQ(traits(FloatFormat::f16).canonical_nan(), 0x7fffu);
  EXPECT_EQ(traits(FloatFormat::e4m3).canonical_nan(), 0x7fu);
  // tf32 ignores the low bits: this f32 NaN is an infinity to it.
  EXPECT_EQ(decode(FloatFormat::tf32, 0x7f800001).float_class, FloatClass::infinity);
}

// Rounding restated: the two neighbours of a magnitude are found by search, then one is chosen.
uint64_t round_by_search(FloatFormat format, double magnitude, bool sign, Rounding rounding) {
  const FormatTraits& t = traits(format);
  uint64_t low = 0, high = t.max_finite(); // the largest encoding not above the magnitude
  while (low < high) {
    const uint64_t middle = (low + high + 1) / 2;
    if (definition(format, middle) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  const double below = definition(format, low);
  const double above = definition(format, low + 1); // a number even beyond the largest, by the plain formula
  bool up = false;
  switch (rounding) {
  case Rounding::rn:
    up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1) != 0);
    break;
  case Rounding::rna:
    up = magnitude - below >= above - magnitude;
    break;
  case Rounding::rm:
    up = sign && magnitude != below;
    break;
  case Rounding::rp:
    up = !sign && magnitude != below;
    break;
  default:
    break;
  }
  return (sign ? t.sign_mask() : 0) | (low + up);
}

TEST(Format, RoundingAgreesWithSearch) {
  for (const FloatFormat format : {FloatFormat::f16, FloatFormat::bf16, FloatFormat::e5m2, FloatFormat::e4m3,
                                   FloatFormat::e3m2, FloatFormat::e2m3, FloatFormat::e2m1}) {
    const FormatTraits& t = traits(format);
    Random random(static_cast<uint64_t>(format) + 1);
    const uint64_t step = t.storage_bits == 16 ? 7 : 1;
    for (uint64_t code = 0; code < t.max_finite(); code += step) {
      const double here = definition(format, code), next = definition(format, code + 1);
      // The encoding, the half-way point, both its sides, and a random point between.
      for (const double part :
           {0.0, 0.5, 0.5 - 0x1p-30, 0.5 + 0x1p-30, static_cast<double>(random.bits(30)) * 0x1p-30}) {
        const double magnitude = here + (next - here) * part;
        if (magnitude == 0)
          continue;
        int exponent = 0;
        const auto significand = static_cast<uint64_t>(std::ldexp(std::frexp(magnitude, &exponent), 53));
        for (const bool sign : {false, true})
          for (const Rounding rounding :
               {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna})
            ASSERT_EQ(encode(format, {sign, exponent - 53, significand}, {.rounding = rounding}),
                      round_by_search(format, magnitude, sign, rounding))
                << t.name << " " << magnitude;
      }
    }
  }
}

TEST(Format, Overflow) {
  const Exact huge{false, 200, 1}, minus_huge{true, 200, 1};
  EXPECT_EQ(encode(FloatFormat::f16, huge), 0x7c00u);
  EXPECT_EQ(encode(FloatFormat::f16, minus_huge), 0xfc00u);
  EXPECT_EQ(encode(FloatFormat::f16, huge, {.rounding = Rounding::rz}), 0x7bffu);
  EXPECT_EQ(encode(FloatFormat::f16, huge, {.rounding = Rounding::rm}), 0x7bffu);
  EXPECT_EQ(encode(FloatFormat::f16, minus_huge, {.rounding = Rounding::rm}), 0xfc00u);
  EXPECT_EQ(encode(FloatFormat::f16, minus_huge, {.rounding = Rounding::rp}), 0xfbffu);
  EXPECT_EQ(encode(FloatFormat::f16, huge, {.satfinite = true}), 0x7bffu);
  // Just beyond the largest f64, where rounding carries into the sign.
  const Exact beyond{false, 1024 - 60, (unsigned __int128){1} << 61};
  const Exact carrying{true, 1025 - 62, ((unsigned __int128){1} << 62) - 1};
  EXPECT_EQ(encode(FloatFormat::f64, beyond), 0x7ff0000000000000u);
  EXPECT_EQ(encode(FloatFormat::f64, carrying), 0xfff0000000000000u);
  EXPECT_EQ(encode(FloatFormat::f64, carrying, {.rounding = Rounding::rz}), 0xffefffffffffffffu);
  EXPECT_EQ(encode(FloatFormat::e4m3, huge), 0x7fu);
  EXPECT_EQ(encode(FloatFormat::e4m3, minus_huge, {.satfinite = true}), 0xfeu);
  EXPECT_EQ(encode(FloatFormat::e2m1, minus_huge), 0xfu);
  EXPECT_EQ(encode(FloatFormat::ue8m0, minus_huge, {.satfinite = true}), 0xfeu);
  EXPECT_EQ(encode(FloatFormat::ue8m0, {false, -300, 1}), 0u);
}

TEST(Format, StochasticRoundingCarriesByTheRandomBits) {
  // 1 + 3/4 of the last place of f16.
  const Exact value{false, -12, (1u << 12) + 3};
  EXPECT_EQ(encode(FloatFormat::f16, value, {.rounding = Rounding::rs, .random = 0, .random_bits = 13}),
            0x3c00u);
  EXPECT_EQ(encode(FloatFormat::f16, value, {.rounding = Rounding::rs, .random = 0x7ff, .random_bits = 13}),
            0x3c00u);
  EXPECT_EQ(encode(FloatFormat::f16, value, {.rounding = Rounding::rs, .random = 0x800, .random_bits = 13}),
            0x3c01u);
}

} // namespace
} // namespace lemma::numeric

// Conversions: between all narrow formats exhaustively against a value-level restatement, f32 and f64 against
// the host, integers against the host and the saturation and NaN rules of the ISA, and the modifiers of cvt.
#include "numeric/convert.h"

#include "numeric/hash.h"

#include "host_float.h"

#include <gtest/gtest.h>

namespace lemma::numeric {
namespace {

constexpr Rounding kIeee[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
using enum FloatFormat;
using enum IntegerFormat;

double exact_double(FloatFormat format, uint64_t bits) {
  return as_double(convert_float(f64, format, bits));
}

// Every value of a narrow format is a double, so going through f64 rounds once as well.
TEST(Convert, NarrowFormatsExhaustively) {
  for (const FloatFormat from : {f16, bf16, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0, ue4m3})
    for (const FloatFormat to : {f16, bf16, tf32, f32, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0}) {
      const FormatTraits& t = traits(from);
      for (uint64_t bits = 0; bits <= (t.magnitude_mask() | t.sign_mask()); ++bits)
        for (const Rounding rounding : {Rounding::rn, Rounding::rz, Rounding::rp}) {
          if (is_nan(from, bits))
            continue;
          const ConvertOptions options{.rounding = rounding, .satfinite = (bits & 1) != 0};
          ASSERT_EQ(convert_float(to, from, bits, options),
                    convert_float(to, f64, convert_float(f64, from, bits), options));
        }
    }
}

// A narrower format's value survives a trip through a wider one, infinities included.
TEST(Convert, WideningIsExact) {
  const std::pair<FloatFormat, FloatFormat> pairs[] = {{f16, f32},  {bf16, f32}, {e4m3, f16}, {e5m2, f16},
                                                       {e2m3, f16}, {e3m2, f16}, {e2m1, f16}, {ue8m0, bf16},
                                                       {f16, tf32}, {bf16, tf32}};
  for (const auto& [narrow, wide] : pairs) {
    const FormatTraits& t = traits(narrow);
    for (uint64_t bits = 0; bits <= (t.magnitude_mask() | t.sign_mask()); ++bits)
      if (!is_nan(narrow, bits)) {
        ASSERT_EQ(convert_float(narrow, wide, convert_float(wide, narrow, bits), {.rounding = Rounding::rz}),
                  bits);
        ASSERT_EQ(exact_double(wide, convert_float(wide, narrow, bits)), exact_double(narrow, bits));
      }
  }
}

TEST(Convert, F64ToF32AgreesWithHost) {
  Random random(3);
  for (const OperandClass operand_class : kAllOperandClasses)
    for (uint64_t bits : operands(f64, operand_class, random, 5000)) {
      if (operand_class == OperandClass::wide) // mostly out of f32's range; bring it near
        bits = (bits & 0x800fffffffffffff) | (random.below(300) + 1023 - 155) << 52;
      for (const Rounding rounding : kIeee) {
        const HostRounding scope(rounding);
        volatile double x = as_double(bits);
        volatile float y = static_cast<float>(x);
        ASSERT_EQ(convert_float(f32, f64, bits, {.rounding = rounding}), bits_of(y)); // NaN too
      }
    }
}

TEST(Convert, NanRules) {
  EXPECT_EQ(convert_float(f32, f16, 0xfe01), 0x7fffffffu);
  EXPECT_EQ(convert_float(f32, bf16, 0xffc1), 0xffc10000u);
  EXPECT_EQ(convert_float(f64, f32, 0x7fffffff), 0x7fffffffe0000000u);
  EXPECT_EQ(convert_float(e4m3, f32, 0xffc00000, {.satfinite = true}), 0x7fu);
  EXPECT_EQ(convert_float(e5m2, f32, 0xffc00000, {.satfinite = true}), 0x7fu);
  EXPECT_EQ(convert_float(e2m1, f32, 0xffc00000, {.satfinite = true}), 0x7u);
  EXPECT_EQ(convert_float(f16, e4m3, 0xff), 0x7fffu);
  EXPECT_EQ(convert_float(bf16, ue8m0, 0xff), 0x7fffu);
  EXPECT_EQ(convert_float(tf32, f32, 0x7f800001), 0x7fffe000u);
  EXPECT_EQ(convert_float(f16, f32, 0x7fc00000, {.relu = true}), 0x7fffu);
  EXPECT_EQ(convert_float(f32, f32, 0x7fc00000, {.sat = true}), 0u);
}

// Measured on an H200.
TEST(Convert, NanKeepsItsPayload) {
  EXPECT_EQ(convert_float(f32, f64, 0x7ff007afdb815469), 0x7fc03d7eu);
  EXPECT_EQ(convert_float(f32, f64, 0xfff0000000000001), 0xffc00000u);
  EXPECT_EQ(convert_float(f16, f64, 0x7ff00fe6e7023625), 0x7e03u);
  EXPECT_EQ(convert_float(bf16, f64, 0x7ff0201edb341e47), 0x7fc1u);
  EXPECT_EQ(convert_float(f64, f16, 0xfc01), 0xfff8040000000000u);
  EXPECT_EQ(convert_float(f64, f32, 0x7f800001), 0x7ff8000020000000u);
  EXPECT_EQ(convert_float(f64, f32, 0x7f800001, {.ftz = true}), 0x7fffffffe0000000u);
  EXPECT_EQ(convert_float(f32, bf16, 0xff81, {.ftz = true}), 0x7fffffffu);
  const ConvertOptions away{.rounding = Rounding::rna}, limited{.rounding = Rounding::rna, .satfinite = true};
  EXPECT_EQ(convert_float(tf32, f32, 0x7f803ebd, away), 0x7f802000u);
  EXPECT_EQ(convert_float(tf32, f32, 0x7f800001, away), 0x7f800000u);
  EXPECT_EQ(convert_float(tf32, f32, 0x7f810bc7, limited), 0x7f80e000u);
  EXPECT_EQ(convert_float(tf32, f32, 0x7f800001, limited), 0x7f7fe000u);
}

// Measured on an H200.
TEST(Convert, WhatFtzFlushes) {
  EXPECT_EQ(convert_float(f16, f32, 1, {.rounding = Rounding::rp, .ftz = true}), 1u);
  EXPECT_EQ(convert_float(f16, f32, 0x80000001, {.rounding = Rounding::rm, .ftz = true}), 0x8001u);
  EXPECT_EQ(convert_float(f32, bf16, 0x807f, {.ftz = true}), 0x80000000u);
  EXPECT_EQ(convert_float(f32, bf16, 0x007f), 0x007f0000u);
}

TEST(Convert, Modifiers) {
  EXPECT_EQ(convert_float(f16, f32, bits_of(1e6f), {.satfinite = true}), 0x7bffu);
  EXPECT_EQ(convert_float(f16, f32, 0xff800000, {.satfinite = true}), 0xfbffu);
  EXPECT_EQ(convert_float(e5m2, f32, 0x7f800000, {.satfinite = true}), 0x7bu);
  EXPECT_EQ(convert_float(e4m3, f32, bits_of(-500.f), {.satfinite = true}), 0xfeu);
  EXPECT_EQ(convert_float(e4m3, f32, bits_of(-500.f), {.satfinite = true, .relu = true}), 0u);
  EXPECT_EQ(convert_float(tf32, f32, 0x3f801000, {.rounding = Rounding::rna}), 0x3f802000u);
  EXPECT_EQ(convert_float(tf32, f32, 0x3f801000, {.rounding = Rounding::rn}), 0x3f800000u);
  EXPECT_EQ(convert_float(tf32, f32, 0x3f801fff, {.rounding = Rounding::rz}), 0x3f800000u);
  EXPECT_EQ(convert_float(f64, f32, 0x80000001, {.ftz = true}), 0x8000000000000000u);
  EXPECT_EQ(convert_float(f32, f64, bits_of(1e-40), {.ftz = true}), 0u);
  EXPECT_EQ(convert_float(f32, f64, bits_of(2.0), {.sat = true}), bits_of(1.0f));
  EXPECT_EQ(convert_float(ue8m0, f32, bits_of(3.0f), {.rounding = Rounding::rz}), 128u);
  EXPECT_EQ(convert_float(ue8m0, f32, bits_of(3.0f), {.rounding = Rounding::rp}), 129u);
  EXPECT_EQ(convert_float(ue8m0, f32, bits_of(-3.0f), {.rounding = Rounding::rz}), 128u);
  EXPECT_EQ(convert_float(ue8m0, f32, bits_of(-3.0f), {.rounding = Rounding::rp}), 129u);
}

TEST(Convert, FloatToIntegerAgreesWithHost) {
  Random random(8);
  for (const FloatFormat from : {f32, f64})
    for (int i = 0; i < 40000; ++i) {
      const int exponent = static_cast<int>(random.below(70)) - 4;
      const double scaled = std::ldexp(static_cast<double>(random.bits(24)) * 0x1p-23, exponent);
      const double value = random.bits(1) != 0 ? -scaled : scaled;
      const uint64_t bits = from == f32 ? bits_of(static_cast<float>(value)) : bits_of(value);
      for (const Rounding rounding : kIeee) {
        const HostRounding scope(rounding);
        volatile double x = value;
        const double integral = std::nearbyint(x);
        ASSERT_EQ(exact_double(from, round_to_integral(from, bits, rounding)), integral);
        const double s32_value = std::fmin(std::fmax(integral, -2147483648.0), 2147483647.0);
        const double u32_value = std::fmin(std::fmax(integral, 0.0), 4294967295.0);
        const double s8_value = std::fmin(std::fmax(integral, -128.0), 127.0);
        ASSERT_EQ(float_to_integer(s32, from, bits, rounding),
                  static_cast<uint32_t>(static_cast<int32_t>(s32_value)));
        ASSERT_EQ(float_to_integer(u32, from, bits, rounding), static_cast<uint32_t>(u32_value));
        ASSERT_EQ(float_to_integer(s8, from, bits, rounding),
                  static_cast<uint8_t>(static_cast<int8_t>(s8_value)));
        if (std::fabs(integral) < 0x1p63) {
          ASSERT_EQ(float_to_integer(s64, from, bits, rounding),
                    static_cast<uint64_t>(static_cast<int64_t>(integral)));
        }
      }
    }
}

TEST(Convert, FloatToIntegerSpecials) {
  const uint64_t nan32 = 0x7fc00000, nan64 = 0x7ff8000000000000;
  EXPECT_EQ(float_to_integer(s32, f32, nan32, Rounding::rz), 0u);
  EXPECT_EQ(float_to_integer(u16, f16, 0x7e00, Rounding::rz), 0u);
  EXPECT_EQ(float_to_integer(s64, f32, nan32, Rounding::rz), 0x8000000000000000u);
  EXPECT_EQ(float_to_integer(u64, f32, nan32, Rounding::rz), 0x8000000000000000u);
  EXPECT_EQ(float_to_integer(s32, f64, nan64, Rounding::rz), 0x80000000u);
  EXPECT_EQ(float_to_integer(u64, f32, 0x7f800000, Rounding::rz), ~uint64_t{0});
  EXPECT_EQ(float_to_integer(s64, f32, 0xff800000, Rounding::rz), 0x8000000000000000u);
  EXPECT_EQ(float_to_integer(s64, f64, bits_of(1e300), Rounding::rz), 0x7fffffffffffffffu);
  EXPECT_EQ(float_to_integer(u32, f32, bits_of(-3.5f), Rounding::rz), 0u);
  EXPECT_EQ(float_to_integer(s32, f32, 0x00000001, Rounding::rp), 1u);
  EXPECT_EQ(float_to_integer(s32, f32, 0x00000001, Rounding::rp, true), 0u);
}

TEST(Convert, IntegerToFloatAgreesWithHost) {
  Random random(21);
  for (int i = 0; i < 40000; ++i) {
    const uint64_t value = random.next() >> random.below(64);
    for (const Rounding rounding : kIeee) {
      const HostRounding scope(rounding);
      volatile int64_t s = static_cast<int64_t>(value);
      volatile uint64_t u = value;
      volatile int32_t s_low = static_cast<int32_t>(value);
      const ConvertOptions options{.rounding = rounding};
      ASSERT_EQ(integer_to_float(f32, s64, value, options), bits_of(static_cast<float>(s)));
      ASSERT_EQ(integer_to_float(f64, s64, value, options), bits_of(static_cast<double>(s)));
      ASSERT_EQ(integer_to_float(f32, s32, value, options), bits_of(static_cast<float>(s_low)));
      if (rounding == Rounding::rn) { // the host composes the unsigned ones of several roundings
        ASSERT_EQ(integer_to_float(f32, u64, value, options), bits_of(static_cast<float>(u)));
      }
    }
  }
  EXPECT_EQ(integer_to_float(f16, u32, 100000), 0x7c00u);
  EXPECT_EQ(integer_to_float(f16, u32, 100000, {.rounding = Rounding::rz}), 0x7bffu);
  EXPECT_EQ(integer_to_float(f32, s8, 0xff), bits_of(-1.0f));
}

TEST(Convert, Integers) {
  EXPECT_EQ(integer_to_integer(s32, s8, 0x80, false), 0xffffff80u);
  EXPECT_EQ(integer_to_integer(u64, s32, 0xffffffff, false), ~uint64_t{0});
  EXPECT_EQ(integer_to_integer(s8, s32, 300, true), 127u);
  EXPECT_EQ(integer_to_integer(u8, s32, 0xffffffff, true), 0u);
  EXPECT_EQ(integer_to_integer(u16, u32, 0x12345678, false), 0x5678u);
}

TEST(Convert, RoundToIntegralKeepsTheSignOfZero) {
  EXPECT_EQ(round_to_integral(f32, bits_of(-0.25f), Rounding::rn), 0x80000000u);
  EXPECT_EQ(round_to_integral(f32, bits_of(2.5f), Rounding::rn), bits_of(2.0f));
  EXPECT_EQ(round_to_integral(f16, 0x7c01, Rounding::rn), 0x7fffu);
  EXPECT_EQ(round_to_integral(f32, bits_of(2.5f), Rounding::rn, false, true), bits_of(1.0f));
}

} // namespace
} // namespace lemma::numeric

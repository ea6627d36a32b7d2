// Scalar arithmetic: f32 and f64 against the host in four rounding modes on random and special bits, f16
// against exact double arithmetic, and the rules of PTX for NaN, signed zero, .ftz, .sat, .relu and min/max.
#include "numeric/arithmetic.h"

#include "numeric/convert.h"
#include "numeric/hash.h"

#include "host_float.h"

#include <gtest/gtest.h>

namespace lemma::numeric {
namespace {

constexpr Rounding kIeee[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
constexpr auto f16 = FloatFormat::f16;
constexpr auto f32 = FloatFormat::f32;
constexpr auto f64 = FloatFormat::f64;

template <class T>
void agree_with_host(FloatFormat format) {
  Random random(11);
  std::vector<uint64_t> a, b, c;
  for (const OperandClass operand_class : kAllOperandClasses)
    for (std::vector<uint64_t>* list : {&a, &b, &c}) {
      const std::vector<uint64_t> more = operands(format, operand_class, random, 4000);
      list->insert(list->end(), more.begin(), more.end());
    }
  // Near-cancelling fma: c is about -a*b.
  for (size_t i = 0; i < 2000; ++i) {
    a.push_back(operands(format, OperandClass::ordinary, random, 1)[0]);
    b.push_back(operands(format, OperandClass::ordinary, random, 1)[0]);
    c.push_back(neg(format, mul(format, a.back(), b.back())) ^ random.bits(1));
  }
  const auto check = [&](uint64_t ours, uint64_t host, size_t i, const char* name) {
    if (is_nan(format, host)) { // which NaN is PTX's business
      ASSERT_TRUE(is_nan(format, ours)) << name;
    } else {
      ASSERT_EQ(ours, host) << name << std::hex << " " << a[i] << " " << b[i] << " " << c[i];
    }
  };
  for (const Rounding rounding : kIeee) {
    const ArithmeticOptions options{.rounding = rounding};
    for (size_t i = 0; i < a.size(); ++i) {
      const auto host = [&](auto operation) { return host_bits<T>(rounding, a[i], b[i], c[i], operation); };
      check(add(format, a[i], b[i], options), host([](T x, T y, T) { return x + y; }), i, "add");
      check(sub(format, a[i], b[i], options), host([](T x, T y, T) { return x - y; }), i, "sub");
      check(mul(format, a[i], b[i], options), host([](T x, T y, T) { return x * y; }), i, "mul");
      check(div(format, a[i], b[i], options), host([](T x, T y, T) { return x / y; }), i, "div");
      check(rcp(format, a[i], options), host([](T x, T, T) { return T{1} / x; }), i, "rcp");
      check(sqrt(format, a[i], options), host([](T x, T, T) { return std::sqrt(x); }), i, "sqrt");
      check(fma(format, a[i], b[i], c[i], options), host([](T x, T y, T z) { return std::fma(x, y, z); }), i,
            "fma");
    }
  }
}

TEST(Arithmetic, F32AgreesWithHost) {
  agree_with_host<float>(f32);
}
TEST(Arithmetic, F64AgreesWithHost) {
  agree_with_host<double>(f64);
}

// Sums and products of two f16 are exact in double, so one rounding from there is the result.
TEST(Arithmetic, F16AgreesWithExactDouble) {
  Random random(5);
  for (const OperandClass operand_class : kAllOperandClasses) {
    const std::vector<uint64_t> a = operands(f16, operand_class, random, 20000);
    const std::vector<uint64_t> b = operands(f16, operand_class, random, 20000);
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = as_double(convert_float(f64, f16, a[i])), y = as_double(convert_float(f64, f16, b[i]));
      const auto rounded = [](double exact) {
        return std::isnan(exact) ? 0x7fffu : convert_float(f16, f64, bits_of(exact));
      };
      ASSERT_EQ(add(f16, a[i], b[i]), rounded(x + y));
      ASSERT_EQ(mul(f16, a[i], b[i]), rounded(x * y));
    }
  }
}

// Double has more than twice f16's bits and two, so rounding its root or quotient again is harmless.
TEST(Arithmetic, F16RootsAndReciprocalsExhaustively) {
  for (uint64_t bits = 0; bits < 0x10000; ++bits) {
    const double x = as_double(convert_float(f64, f16, bits));
    for (const Rounding rounding : {Rounding::rn, Rounding::rz}) {
      const ConvertOptions convert{.rounding = rounding};
      const ArithmeticOptions options{.rounding = rounding};
      if (std::isnan(x)) {
        ASSERT_EQ(sqrt(f16, bits, options), 0x7fffu);
        ASSERT_EQ(rcp(f16, bits, options), 0x7fffu);
        continue;
      }
      const uint64_t root = convert_float(f16, f64, bits_of(std::sqrt(x)), convert);
      ASSERT_EQ(sqrt(f16, bits, options), x < 0 ? 0x7fffu : root);
      ASSERT_EQ(rcp(f16, bits, options), convert_float(f16, f64, bits_of(1.0 / x), convert));
    }
  }
}

TEST(Arithmetic, NanRules) {
  EXPECT_EQ(add(f32, 0xffc00001, 0x3f800000), 0x7fffffffu);
  EXPECT_EQ(add(f32, 0x7f800000, 0xff800000), 0x7fffffffu);
  EXPECT_EQ(mul(f16, 0x7c00, 0x8000), 0x7fffu);
  EXPECT_EQ(mul(FloatFormat::bf16, 0x7f80, 0), 0x7fffu);
  EXPECT_EQ(sqrt(f32, 0xbf800000), 0x7fffffffu);
  EXPECT_EQ(fma(f16, 0xfe00, 0x3c00, 0xbc00, {.relu = true}), 0x7fffu);
  EXPECT_EQ(add(f32, 0x7fc00000, 0, {.sat = true}), 0u);
}

// Measured on an H200.
TEST(Arithmetic, NanOperandsOfF64) {
  const uint64_t a = 0xfff8000000000005, b = 0x7ff0000000000001, c = 0x7ff8000000000007;
  const uint64_t one = bits_of(1.0), quiet_b = 0x7ff8000000000001, inf = 0x7ff0000000000000;
  EXPECT_EQ(add(f64, a, b), quiet_b);
  EXPECT_EQ(add(f64, b, a), a);
  EXPECT_EQ(sub(f64, a, b), quiet_b);
  EXPECT_EQ(mul(f64, a, b), quiet_b);
  EXPECT_EQ(mul(f64, a, one), a);
  EXPECT_EQ(div(f64, a, b), a);
  EXPECT_EQ(fma(f64, a, b, c), quiet_b);
  EXPECT_EQ(fma(f64, a, one, c), c);
  EXPECT_EQ(fma(f64, a, one, one), a);
  EXPECT_EQ(fma(f64, inf, 0, c), c);
  EXPECT_EQ(fma(f64, inf, 0, one), 0xfff8000000000000u);
  EXPECT_EQ(abs(f64, a), a);
  EXPECT_EQ(neg(f64, a), a);
  EXPECT_EQ(neg(f64, b), quiet_b);
  EXPECT_EQ(abs(f32, 0xff800001), 0x7fffffffu);
}

TEST(Arithmetic, FmaOutOfBounds) {
  const ArithmeticOptions oob{.oob = true};
  EXPECT_EQ(fma(f16, kOobNan, 0x3c00, 0x3c00, oob), 0u);
  EXPECT_EQ(fma(f16, 0xfe00, kOobNan, 0x3c00, oob), 0u);
  EXPECT_EQ(fma(f16, 0xfff7, 0x3c00, 0x3c00, oob), 0u);
  EXPECT_EQ(fma(f16, 0x3c00, 0x3c00, 0xfff7, oob), 0x7fffu);
  EXPECT_EQ(fma(f16, kOobNan, 0x3c00, 0x3c00), 0x7fffu);
  EXPECT_EQ(fma(f16, 0x7fff, 0x3c00, 0x3c00, oob), 0x7fffu); // measured on an H200
  EXPECT_EQ(fma(f16, 0x3c00, 0x3c00, 0x3c00, oob), 0x4000u);
}

TEST(Arithmetic, SignOfZero) {
  const uint64_t one = 0x3f800000, minus_one = 0xbf800000, minus_zero = 0x80000000;
  EXPECT_EQ(add(f32, one, minus_one), 0u);
  EXPECT_EQ(add(f32, one, minus_one, {.rounding = Rounding::rm}), minus_zero);
  EXPECT_EQ(add(f32, minus_zero, minus_zero), minus_zero);
  EXPECT_EQ(fma(f32, minus_one, 0, minus_zero), minus_zero);
}

TEST(Arithmetic, Modifiers) {
  // .ftz flushes inputs and results, sign kept.
  EXPECT_EQ(add(f32, 0x80000001, 0x80000000, {.ftz = true}), 0x80000000u);
  EXPECT_EQ(add(f32, 0x80000001, 0x00000002, {.ftz = false}), 0x00000001u);
  EXPECT_EQ(mul(f32, 0x00800000, 0xbf000000, {.ftz = true}), 0x80000000u);
  // A result is tiny if it is below the normal range after rounding with an unbounded exponent.
  EXPECT_EQ(mul(f32, 0x3f7fffff, 0x00800000, {.ftz = true}), 0u);          // 2^-126 (1 - 2^-24)
  EXPECT_EQ(mul(f32, 0x3f7ffffe, 0x00800001, {.ftz = true}), 0x00800000u); // 2^-126 (1 - 2^-46)
  EXPECT_EQ(mul(f32, 0x3f7ffffe, 0x00800001, {.rounding = Rounding::rz, .ftz = true}), 0u);
  // .sat
  EXPECT_EQ(add(f32, 0x3f800000, 0x3f800000, {.sat = true}), 0x3f800000u);
  EXPECT_EQ(add(f32, 0xbf800000, 0x00000000, {.sat = true}), 0u);
  EXPECT_EQ(mul(f16, 0x3800, 0x3800, {.sat = true}), 0x3400u);
  // .relu
  EXPECT_EQ(fma(f16, 0x3c00, 0xbc00, 0x0000, {.relu = true}), 0u);
  EXPECT_EQ(fma(f16, 0x3c00, 0x3c00, 0x0000, {.relu = true}), 0x3c00u);
}

TEST(MinMax, Rules) {
  const uint64_t nan = 0x7fc00000, one = 0x3f800000, minus_two = 0xc0000000, minus_zero = 0x80000000;
  EXPECT_EQ(min(f32, 0, minus_zero), minus_zero);
  EXPECT_EQ(min(f32, minus_zero, 0), minus_zero);
  EXPECT_EQ(max(f32, 0, minus_zero), 0u);
  EXPECT_EQ(max(f32, minus_zero, 0), 0u);
  EXPECT_EQ(min(f32, nan, one), one);
  EXPECT_EQ(max(f32, one, nan), one);
  EXPECT_EQ(min(f32, nan, one, {.nan = true}), 0x7fffffffu);
  EXPECT_EQ(min(f32, nan, nan), 0x7fffffffu);
  EXPECT_EQ(max(f32, one, minus_two, {.xorsign_abs = true}), minus_two);
  EXPECT_EQ(min(f32, one, minus_two, {.xorsign_abs = true}), 0xbf800000u);
  EXPECT_EQ(max(f32, minus_two, minus_two, {.xorsign_abs = true}), 0x40000000u);
  EXPECT_EQ(min(f32, 0x00000001, one, {.ftz = true}), 0u);
}

TEST(Compare, Rules) {
  EXPECT_EQ(compare(f32, 0, 0x80000000), Ordering::equal);
  EXPECT_EQ(compare(f32, 0xbf800000, 0xc0000000), Ordering::greater);
  EXPECT_EQ(compare(f64, 0xbff0000000000000, 0x3ff0000000000000), Ordering::less);
  EXPECT_EQ(compare(f16, 0x7e00, 0x3c00), Ordering::unordered);
  EXPECT_EQ(compare(f32, 1, 0, true), Ordering::equal);
}

} // namespace
} // namespace lemma::numeric

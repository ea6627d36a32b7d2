// The approximate functions as instructions: special values, near enough to the functions to tell them apart,
// and marked as approximate. Their bits are tested in tests/unit/numeric/mufu_test.cc and tests/golden.
#include "arithmetic_fixture.h"
#include "kernel.h"
#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

using numeric::FloatFormat;

uint64_t bits_of(double value) {
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}
double value_of(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
uint64_t flush(uint64_t bits) {
  return numeric::flush_subnormal(FloatFormat::f32, bits);
}

// One argument on every lane; the first lane's result.
uint64_t run(const std::string& spelling, const std::vector<uint64_t>& arguments) {
  Machine machine;
  std::vector<std::vector<uint64_t>> sources;
  for (const uint64_t a : arguments)
    sources.emplace_back(kWarpSize, a);
  const auto lanes = machine.run(spelling, sources);
  EXPECT_TRUE(machine.approximate) << spelling;
  return lanes[0];
}

struct Function {
  const char* name;
  double (*f)(double);
  double lowest, highest;    // of the arguments tried
  double relative, absolute; // error that the ISA allows
};
double rcp(double a) {
  return 1 / a;
}
double rsqrt(double a) {
  return 1 / std::sqrt(a);
}
double sin_of_turns(double a) {
  return std::sin(2 * M_PI * a);
}
double cos_of_turns(double a) {
  return std::cos(2 * M_PI * a);
}
const Function kFunctions[] = {
    {"rcp.approx", rcp, -1e30, 1e30, 0x1p-23, 0},
    {"sqrt.approx", std::sqrt, 0, 1e30, 0x1p-23, 0},
    {"rsqrt.approx", rsqrt, 1e-30, 1e30, 0x1p-22, 0},
    {"sin.approx", std::sin, -3.14159, 3.14159, 0, 0x1p-20},
    {"cos.approx", std::cos, -3.14159, 3.14159, 0, 0x1p-20},
    {"sin.2pi.approx", sin_of_turns, -1, 1, 0, 0x1p-20},
    {"cos.2pi.approx", cos_of_turns, -1, 1, 0, 0x1p-20},
    {"lg2.approx", std::log2, 1e-30, 1e30, 0x1p-22, 0x1p-22},
    {"ex2.approx", std::exp2, -100, 100, 0x1p-22, 0},
};

TEST(Approximate, ErrorOfF32) {
  Random random(3);
  for (const Function& function : kFunctions)
    for (const char* suffix : {"", ".ftz"})
      for (int i = 0; i < 200 && is_legal(fmt::format("{}{}.f32", function.name, suffix)); ++i) {
        const double u = double(random() >> 11) * 0x1p-53;
        const double a = value_of(bits_of(function.lowest + u * (function.highest - function.lowest)));
        const double got = value_of(run(fmt::format("{}{}.f32", function.name, suffix), {bits_of(a)}));
        const double exact = function.f(a);
        EXPECT_LE(std::abs(got - exact), std::abs(exact) * function.relative + function.absolute)
            << function.name << suffix << " of " << a;
      }
}

TEST(Approximate, SpecialValuesOfF32) {
  constexpr uint64_t kZero = 0, kMinusZero = 0x80000000, kInfinity = 0x7f800000, kMinusInfinity = 0xff800000,
                     kNan = 0x7fffffff, kOne = 0x3f800000, kSubnormal = 1, kAnyNan = 0x7f800001;
  struct Case {
    const char* spelling;
    uint64_t a, d;
  };
  const Case cases[] = {
      {"rcp.approx.f32", kZero, kInfinity},
      {"rcp.approx.f32", kMinusZero, kMinusInfinity},
      {"rcp.approx.f32", kMinusInfinity, kMinusZero},
      {"rcp.approx.ftz.f32", kSubnormal, kInfinity},
      {"rcp.approx.ftz.f32", 0x7f7fffff, kZero},
      {"rcp.approx.f32", kAnyNan, kNan},
      {"sqrt.approx.f32", kMinusZero, kMinusZero},
      {"sqrt.approx.f32", kMinusInfinity, kNan},
      {"sqrt.approx.ftz.f32", kSubnormal | 0x80000000, kMinusZero},
      {"rsqrt.approx.f32", kMinusZero, kMinusInfinity},
      {"rsqrt.approx.f32", kInfinity, kZero},
      {"rsqrt.approx.f32", 0xbf800000, kNan},
      {"rsqrt.approx.ftz.f32", kSubnormal, kInfinity},
      {"sin.approx.f32", kMinusZero, kMinusZero},
      {"sin.approx.f32", kInfinity, kNan},
      {"sin.approx.ftz.f32", kSubnormal | 0x80000000, kMinusZero},
      {"cos.approx.f32", kMinusZero, kOne},
      {"cos.approx.f32", kMinusInfinity, kNan},
      {"lg2.approx.f32", kZero, kMinusInfinity},
      {"lg2.approx.f32", kMinusZero, kMinusInfinity},
      {"lg2.approx.f32", 0xbf800000, kNan},
      {"lg2.approx.ftz.f32", kSubnormal, kMinusInfinity},
      {"lg2.approx.f32", kInfinity, kInfinity},
      {"ex2.approx.f32", kMinusInfinity, kZero},
      {"ex2.approx.f32", kInfinity, kInfinity},
      {"ex2.approx.ftz.f32", kSubnormal, kOne},
      {"ex2.approx.ftz.f32", 0xc3010000, kZero}, // 2^-129
      {"ex2.approx.f32", kAnyNan, kNan},
      {"tanh.approx.f32", kMinusInfinity, 0xbf800000},
      {"tanh.approx.f32", kMinusZero, kMinusZero},
      {"tanh.approx.f32", kAnyNan, kNan},
  };
  for (const Case& c : cases)
    EXPECT_EQ(run(c.spelling, {c.a}), c.d) << c.spelling << " of " << std::hex << c.a;
}

TEST(Approximate, Division) {
  Random random(4);
  for (const char* how : {"approx", "full"})
    for (const bool ftz : {false, true})
      for (int i = 0; i < 500; ++i) {
        const uint64_t r = random(), s = random();
        const uint64_t a = (r & 0x807fffff) | (64 + (r >> 32) % 128) << 23;
        const uint64_t b = (s & 0x807fffff) | (64 + (s >> 32) % 128) << 23;
        const uint64_t got = run(fmt::format("div.{}{}.f32", how, ftz ? ".ftz" : ""), {a, b});
        uint64_t exact = numeric::div(FloatFormat::f32, a, b);
        exact = ftz ? flush(exact) : exact;
        EXPECT_LE(std::abs(int64_t(got) - int64_t(exact)), 2) << how << std::hex << " " << a << " " << b;
      }
  // Divisors between 2^126 and 2^128.
  EXPECT_EQ(run("div.approx.f32", {0x7f000000, 0x7f400000}), 0u);
  EXPECT_EQ(run("div.approx.f32", {0xff000000, 0x7f400000}), 0x80000000u);
  EXPECT_EQ(run("div.approx.f32", {0x7f800000, 0x7f400000}), 0x7fffffffu);
  EXPECT_NE(run("div.full.f32", {0x7f000000, 0x7f400000}), 0u);
  EXPECT_EQ(run("div.full.f32", {0, 0}), 0x7fffffffu);
}

// ptxas 13.0 makes a multiplication of a division by a number that it knows, with the reciprocal rounded to
// nearest. The unit's of 1.0254 is another.
TEST(Approximate, DivisionByAConstant) {
  const float divisor = std::bit_cast<float>(0x3f83409cu);
  const float reciprocal = 1 / divisor;
  EXPECT_NE(value_of(run("rcp.approx.ftz.f32", {0x3f83409c})), reciprocal);
  std::vector<uint32_t> in;
  for (uint32_t i = 0; i < kWarpSize; ++i)
    in.push_back(0x3f800000 + i * 0x12345);
  in.push_back(0x3f83409c);
  LaunchConfig warp;
  warp.block = {kWarpSize, 1, 1};
  const auto quotients = [&](const std::string& before, const std::string& divisor_operand) {
    const auto ran = run_body(
        "shl.b32 %r1, %t, 2; cvt.u64.u32 %rd1, %r1; add.u64 %rd2, %in, %rd1; add.u64 %rd3, %out, %rd1;\n"
        "ld.global.f32 %f1, [%rd2]; ld.global.f32 %f3, [%in+128]; setp.eq.u32 %p1, %t, %t;\n" +
            before + "\ndiv.full.f32 %f2, %f1, " + divisor_operand + ";\nst.global.f32 [%rd3], %f2; ret;",
        warp, kWarpSize, in);
    EXPECT_EQ(fault_text(ran.report), "");
    return ran.out;
  };
  std::vector<uint32_t> exact;
  for (uint32_t i = 0; i < kWarpSize; ++i)
    exact.push_back(std::bit_cast<uint32_t>(std::bit_cast<float>(in[i]) * reciprocal));
  EXPECT_EQ(quotients("", "0f3f83409c"), exact);
  EXPECT_EQ(quotients("mov.f32 %f4, 0f3f83409c;", "%f4"), exact);
  EXPECT_EQ(quotients("mov.b32 %f4, 0x3f83409c; mov.f32 %f5, %f4;", "%f5"), exact);
  // Not known: loaded, written twice, under a guard.
  const std::vector<uint32_t> by_unit = quotients("", "%f3");
  EXPECT_NE(by_unit, exact);
  EXPECT_EQ(quotients("mov.f32 %f4, 0f3f800000; mov.f32 %f4, 0f3f83409c;", "%f4"), by_unit);
  EXPECT_EQ(quotients("mov.f32 %f4, %f3; @%p1 mov.f32 %f4, 0f3f83409c;", "%f4"), by_unit);
}

TEST(Approximate, UpperHalvesOfF64) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const uint64_t bits = (random() & 0x000fffffffffffff) | (900 + random() % 200) << 52;
    const auto a = std::bit_cast<double>(bits);
    const uint64_t r = run("rcp.approx.ftz.f64", {bits}), s = run("rsqrt.approx.ftz.f64", {bits});
    EXPECT_EQ(r & 0xffffffff, 0u);
    EXPECT_EQ(s & 0xffffffff, 0u);
    EXPECT_NEAR(std::bit_cast<double>(r) * a, 1, 0x1p-19);
    EXPECT_NEAR(std::bit_cast<double>(s) * std::sqrt(a), 1, 0x1p-19);
    EXPECT_NEAR(std::bit_cast<double>(run("rsqrt.approx.f64", {bits})) * std::sqrt(a), 1, 0x1p-50);
  }
  EXPECT_EQ(run("rcp.approx.ftz.f64", {1}), 0x7ff0000000000000u);
  EXPECT_EQ(run("rcp.approx.ftz.f64", {0xfff0000000000000}), 0x8000000000000000u);
}

TEST(Approximate, HalfPrecision) {
  struct Half {
    const char* name;
    FloatFormat format;
    double ex2_error;  // relative
    double tanh_error; // absolute
    const char* ex2_suffix;
  };
  constexpr Half kHalves[] = {{"f16", FloatFormat::f16, 0x1p-9, 0x1p-10, ""},
                              {"bf16", FloatFormat::bf16, 0x1.04p-7, 0x1.4p-8, ".ftz"}};
  for (const Half& t : kHalves) {
    const auto value = [&](uint64_t bits) {
      return std::bit_cast<double>(numeric::convert_float(FloatFormat::f64, t.format, bits));
    };
    for (uint64_t a = 0; a < 0x10000; a += 7) {
      const double x = value(a);
      if (std::isnan(x) || std::abs(x) > 14 || (std::abs(x) < 0x1p-14 && x != 0))
        continue;
      const uint64_t pair = a << 16 | 0;
      const uint64_t e = run(fmt::format("ex2.approx{}.{}", t.ex2_suffix, t.name), {a});
      EXPECT_NEAR(value(e), std::exp2(x), std::exp2(x) * t.ex2_error) << t.name << " " << x;
      EXPECT_EQ(run(fmt::format("ex2.approx{}.{}x2", t.ex2_suffix, t.name), {pair}) >> 16, e);
      const uint64_t h = run(fmt::format("tanh.approx.{}", t.name), {a});
      EXPECT_NEAR(value(h), std::tanh(x), t.tanh_error) << t.name << " " << x;
      EXPECT_EQ(run(fmt::format("tanh.approx.{}x2", t.name), {pair}), h << 16);
    }
    EXPECT_EQ(run(fmt::format("ex2.approx{}.{}", t.ex2_suffix, t.name), {0x7fc1}), 0x7fffu);
  }
}

} // namespace
} // namespace lemma::vgpu

// f32 and f64 arithmetic against src/numeric, which computes on integers alone.
#include "arithmetic_fixture.h"
#include "numeric/arithmetic.h"
#include "numeric/convert.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

using numeric::ArithmeticOptions;
using numeric::FloatFormat;
using numeric::MinMaxOptions;
using numeric::Rounding;

constexpr std::pair<const char*, Rounding> kRoundings[] = {{"", Rounding::rn},
                                                           {".rn", Rounding::rn},
                                                           {".rz", Rounding::rz},
                                                           {".rm", Rounding::rm},
                                                           {".rp", Rounding::rp}};

// f(spelling, options) for every rounding, .ftz and .sat that an f32 instruction takes.
void for_f32_modes(const char* opcode, bool may_saturate, bool needs_rounding,
                   const std::function<void(const std::string&, const ArithmeticOptions&)>& f) {
  for (const auto& [suffix, rounding] : kRoundings)
    for (const bool ftz : {false, true})
      for (const bool sat : {false, true}) {
        if ((sat && !may_saturate) || (needs_rounding && suffix[0] == 0))
          continue;
        f(fmt::format("{}{}{}{}.f32", opcode, suffix, ftz ? ".ftz" : "", sat ? ".sat" : ""),
          {.rounding = rounding, .ftz = ftz, .sat = sat});
      }
}

TEST(Float, F32SumsAndProducts) {
  constexpr FloatFormat f = FloatFormat::f32;
  for_f32_modes("add", true, false, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::add(f, s[0], s[1], o); });
  });
  for_f32_modes("sub", true, false, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::sub(f, s[0], s[1], o); });
  });
  for_f32_modes("mul", true, false, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::mul(f, s[0], s[1], o); });
  });
  for (const char* opcode : {"fma", "mad"})
    for_f32_modes(opcode, true, true, [](const std::string& spelling, const ArithmeticOptions& o) {
      check(spelling, [&](const uint64_t* s) { return numeric::fma(f, s[0], s[1], s[2], o); });
    });
}

TEST(Float, F32QuotientsAndRoots) {
  constexpr FloatFormat f = FloatFormat::f32;
  for_f32_modes("div", false, true, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::div(f, s[0], s[1], o); });
  });
  for_f32_modes("rcp", false, true, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::rcp(f, s[0], o); });
  });
  for_f32_modes("sqrt", false, true, [](const std::string& spelling, const ArithmeticOptions& o) {
    check(spelling, [&](const uint64_t* s) { return numeric::sqrt(f, s[0], o); });
  });
}

TEST(Float, F64) {
  constexpr FloatFormat f = FloatFormat::f64;
  for (const auto& [suffix, rounding] : kRoundings) {
    const ArithmeticOptions o{.rounding = rounding};
    const auto spelling = [suffix = suffix](const char* opcode) {
      return fmt::format("{}{}.f64", opcode, suffix);
    };
    check(spelling("add"), [&](const uint64_t* s) { return numeric::add(f, s[0], s[1], o); });
    check(spelling("sub"), [&](const uint64_t* s) { return numeric::sub(f, s[0], s[1], o); });
    check(spelling("mul"), [&](const uint64_t* s) { return numeric::mul(f, s[0], s[1], o); });
    if (suffix[0] == 0)
      continue;
    check(spelling("fma"), [&](const uint64_t* s) { return numeric::fma(f, s[0], s[1], s[2], o); });
    check(spelling("mad"), [&](const uint64_t* s) { return numeric::fma(f, s[0], s[1], s[2], o); });
    check(spelling("div"), [&](const uint64_t* s) { return numeric::div(f, s[0], s[1], o); });
    check(spelling("rcp"), [&](const uint64_t* s) { return numeric::rcp(f, s[0], o); });
    check(fmt::format("rcp{}.ftz.f64", suffix), [&](const uint64_t* s) { return numeric::rcp(f, s[0], o); });
    check(spelling("sqrt"), [&](const uint64_t* s) { return numeric::sqrt(f, s[0], o); });
  }
}

TEST(Float, MinMax) {
  for (const bool ftz : {false, true})
    for (const bool nan : {false, true})
      for (const bool xorsign : {false, true}) {
        const MinMaxOptions o{.ftz = ftz, .nan = nan, .xorsign_abs = xorsign};
        const auto spelling = [&](const char* opcode) {
          return fmt::format("{}{}{}{}.f32", opcode, ftz ? ".ftz" : "", nan ? ".NaN" : "",
                             xorsign ? ".xorsign.abs" : "");
        };
        check(spelling("min"),
              [&](const uint64_t* s) { return numeric::min(FloatFormat::f32, s[0], s[1], o); });
        check(spelling("max"),
              [&](const uint64_t* s) { return numeric::max(FloatFormat::f32, s[0], s[1], o); });
      }
  // Of two NaN of f64 the second comes out, made quiet.
  const auto f64 = [](const uint64_t* s, auto f) {
    const bool nan = numeric::is_nan(FloatFormat::f64, s[0]) && numeric::is_nan(FloatFormat::f64, s[1]);
    return nan ? s[1] | uint64_t{1} << 51 : f(FloatFormat::f64, s[0], s[1], MinMaxOptions{});
  };
  check("min.f64", [&](const uint64_t* s) { return f64(s, numeric::min); });
  check("max.f64", [&](const uint64_t* s) { return f64(s, numeric::max); });
}

TEST(Float, MinMaxOfThree) {
  CheckOptions options;
  options.operands.resize(4);
  for (const bool ftz : {false, true})
    for (const bool nan : {false, true})
      for (const bool abs : {false, true})
        for (const bool max : {false, true}) {
          const MinMaxOptions o{.ftz = ftz, .nan = nan};
          const auto two = [&](uint64_t a, uint64_t b) {
            return max ? numeric::max(FloatFormat::f32, a, b, o) : numeric::min(FloatFormat::f32, a, b, o);
          };
          const uint64_t mask = abs ? 0x7fffffff : 0xffffffff;
          check(
              fmt::format("{}{}{}{}.f32", max ? "max" : "min", ftz ? ".ftz" : "", nan ? ".NaN" : "",
                          abs ? ".abs" : ""),
              [&](const uint64_t* s) {
                // The other way round than the kernel: the result is the same.
                return two(s[0] & mask, two(s[1] & mask, s[2] & mask));
              },
              options);
        }
}

// Two f32 in each 64-bit register.
TEST(Float, Pairs) {
  constexpr FloatFormat f = FloatFormat::f32;
  for (const auto& [suffix, rounding] : kRoundings)
    for (const bool ftz : {false, true}) {
      const ArithmeticOptions o{.rounding = rounding, .ftz = ftz};
      const auto both = [](const uint64_t* s, auto one) {
        const auto half = [&](int shift) {
          return one(s[0] >> shift & 0xffffffff, s[1] >> shift & 0xffffffff, s[2] >> shift & 0xffffffff);
        };
        return half(0) | half(32) << 32;
      };
      const auto spelling = [&, suffix = suffix](const char* opcode) {
        return fmt::format("{}{}{}.f32x2", opcode, suffix, ftz ? ".ftz" : "");
      };
      const auto check_two = [&](const char* opcode, auto operation) {
        check(spelling(opcode), [&](const uint64_t* s) {
          const uint64_t sources[3] = {s[0], s[1], 0};
          return both(sources, [&](uint64_t a, uint64_t b, uint64_t) { return operation(f, a, b, o); });
        });
      };
      check_two("add", numeric::add);
      check_two("sub", numeric::sub);
      check_two("mul", numeric::mul);
      if (suffix[0] != 0)
        check(spelling("fma"), [&](const uint64_t* s) {
          return both(s, [&](uint64_t a, uint64_t b, uint64_t c) { return numeric::fma(f, a, b, c, o); });
        });
    }
}

// Halves widened to f32, then one f32 operation.
TEST(Float, MixedPrecision) {
  constexpr FloatFormat f = FloatFormat::f32;
  for (const FloatFormat half : {FloatFormat::f16, FloatFormat::bf16})
    for (const auto& [suffix, rounding] : kRoundings)
      for (const bool sat : {false, true}) {
        const ArithmeticOptions o{.rounding = rounding, .sat = sat};
        const auto wide = [&](uint64_t bits) { return numeric::convert_float(f, half, bits); };
        const auto spelling = [&, suffix = suffix](const char* opcode) {
          return fmt::format("{}{}{}.f32.{}", opcode, suffix, sat ? ".sat" : "",
                             half == FloatFormat::f16 ? "f16" : "bf16");
        };
        check(spelling("add"), [&](const uint64_t* s) { return numeric::add(f, wide(s[0]), s[1], o); });
        check(spelling("sub"), [&](const uint64_t* s) { return numeric::sub(f, wide(s[0]), s[1], o); });
        if (suffix[0] != 0)
          check(spelling("fma"),
                [&](const uint64_t* s) { return numeric::fma(f, wide(s[0]), wide(s[1]), s[2], o); });
      }
}

// sm_90 has no instruction for abs and neg: they are additions, which make f32's NaN canonical and f64's
// quiet, with its own sign.
TEST(Float, Signs) {
  const auto f32 = [](uint64_t changed) {
    return numeric::is_nan(FloatFormat::f32, changed) ? uint64_t{0x7fffffff} : changed;
  };
  const auto f64 = [](uint64_t a, uint64_t changed) {
    return numeric::is_nan(FloatFormat::f64, a) ? a | uint64_t{1} << 51 : changed;
  };
  const auto flush = [](uint64_t a) { return numeric::flush_subnormal(FloatFormat::f32, a); };
  check("abs.f32", [&](const uint64_t* s) { return f32(s[0] & 0x7fffffff); });
  check("neg.f32", [&](const uint64_t* s) { return f32(s[0] ^ 0x80000000); });
  check("abs.ftz.f32", [&](const uint64_t* s) { return f32(flush(s[0]) & 0x7fffffff); });
  check("neg.ftz.f32", [&](const uint64_t* s) { return f32(flush(s[0]) ^ 0x80000000); });
  constexpr uint64_t kSign = uint64_t{1} << 63;
  check("abs.f64", [&](const uint64_t* s) { return f64(s[0], s[0] & ~kSign); });
  check("neg.f64", [&](const uint64_t* s) { return f64(s[0], s[0] ^ kSign); });
  check("copysign.f32", [](const uint64_t* s) { return (s[0] & 0x80000000) | (s[1] & 0x7fffffff); });
  check("copysign.f64", [](const uint64_t* s) { return (s[0] & kSign) | (s[1] & ~kSign); });
}

TEST(Float, Testp) {
  for (const auto& [type, format] :
       {std::pair("f32", FloatFormat::f32), std::pair("f64", FloatFormat::f64)}) {
    const auto class_of = [format = format](uint64_t bits) {
      return numeric::decode(format, bits).float_class;
    };
    const auto subnormal = [format = format](uint64_t bits) {
      const numeric::FormatTraits& t = numeric::traits(format);
      return (bits & t.magnitude_mask()) != 0 && (bits & t.magnitude_mask()) < t.min_normal();
    };
    using numeric::FloatClass;
    const auto testp = [&, type = type](const char* test, const std::function<bool(uint64_t)>& f) {
      check(fmt::format("testp.{}.{}", test, type), [&](const uint64_t* s) { return uint64_t{f(s[0])}; });
    };
    testp("finite",
          [&](uint64_t a) { return class_of(a) == FloatClass::zero || class_of(a) == FloatClass::finite; });
    testp("infinite", [&](uint64_t a) { return class_of(a) == FloatClass::infinity; });
    testp("number", [&](uint64_t a) { return class_of(a) != FloatClass::nan; });
    testp("notanumber", [&](uint64_t a) { return class_of(a) == FloatClass::nan; });
    testp("normal", [&](uint64_t a) {
      return class_of(a) == FloatClass::zero || (class_of(a) == FloatClass::finite && !subnormal(a));
    });
    testp("subnormal", subnormal);
  }
}

// Products between the largest subnormal and the smallest normal number: a result is flushed if it is below
// the normal range after rounding with an unbounded exponent.
TEST(Float, FlushIsDecidedOnTheRoundedValue) {
  struct Case {
    uint32_t a, b, d;
  };
  constexpr uint32_t kMinNormal = 0x00800000;
  constexpr Case kCases[] = {
      {0x3f7fffff, kMinNormal, 0},              // 2^-126 (1 - 2^-24): a number of 24 bits below the range
      {0x3f800001, kMinNormal - 1, 0},          // the subnormal operand counts as zero
      {0x3f000000, kMinNormal, 0},              // exact and subnormal
      {0x3f800000, kMinNormal, kMinNormal},     // exact and normal
      {0x3f7ffffe, kMinNormal + 1, kMinNormal}, // 2^-126 (1 - 2^-46): rounds up into the range
  };
  for (const Case& c : kCases) {
    CheckOptions options;
    options.warps = 1;
    options.source = [&](int source, uint64_t) { return source == 0 ? c.a : c.b; };
    check("mul.ftz.f32", [&](const uint64_t*) { return c.d; }, options);
  }
}

} // namespace
} // namespace lemma::vgpu

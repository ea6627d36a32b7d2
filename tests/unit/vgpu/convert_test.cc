// cvt and cvt.pack against src/numeric: every pair of scalar types with every modifier the forms allow, in
// registers of the type's width and wider.
#include "arithmetic_fixture.h"
#include "numeric/arithmetic.h"
#include "numeric/convert.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lemma::vgpu {
namespace {

using numeric::ConvertOptions;
using numeric::FloatFormat;
using numeric::IntegerFormat;
using numeric::Rounding;

struct Integer {
  const char* name;
  IntegerFormat format;
  int bits() const { return numeric::width_bits(format); }
};
constexpr Integer kIntegers[] = {{"u8", IntegerFormat::u8},   {"s8", IntegerFormat::s8},
                                 {"u16", IntegerFormat::u16}, {"s16", IntegerFormat::s16},
                                 {"u32", IntegerFormat::u32}, {"s32", IntegerFormat::s32},
                                 {"u64", IntegerFormat::u64}, {"s64", IntegerFormat::s64}};
struct Float {
  const char* name;
  FloatFormat format;
  int bits() const { return numeric::traits(format).storage_bits; }
};
constexpr Float kFloats[] = {{"f16", FloatFormat::f16},
                             {"bf16", FloatFormat::bf16},
                             {"f32", FloatFormat::f32},
                             {"f64", FloatFormat::f64}};
constexpr std::pair<const char*, Rounding> kRoundings[] = {
    {"rn", Rounding::rn}, {"rz", Rounding::rz}, {"rm", Rounding::rm}, {"rp", Rounding::rp}};

// The low bits of a signed integer to 64.
uint64_t extend(const Integer& t, uint64_t bits) {
  if (!numeric::is_signed(t.format))
    return bits;
  const int above = 64 - t.bits();
  return uint64_t(int64_t(bits << above) >> above);
}

// The spelling in registers of the type's width, then both in 64 bits, then the source in the next wider one.
void check_widths(const std::string& spelling, int from_bits, int to_bits, const Expected& reference,
                  int warps = 24) {
  CheckOptions options;
  options.warps = warps;
  check(spelling, reference, options);
  if (from_bits < 64)
    options.src_bytes = {from_bits <= 16 ? 4 : 8};
  if (to_bits < 64)
    options.dst_bytes = 8;
  check(spelling, reference, options);
  options.dst_bytes = to_bits <= 16 ? 4 : 0;
  options.src_bytes = {8};
  check(spelling, reference, options);
}

TEST(Convert, IntegerToInteger) {
  for (const Integer& to : kIntegers)
    for (const Integer& from : kIntegers)
      for (const bool sat : {false, true}) {
        const std::string spelling = fmt::format("cvt{}.{}.{}", sat ? ".sat" : "", to.name, from.name);
        if (is_legal(spelling)) // .sat only where the range may be left
          check_widths(
              spelling, from.bits(), to.bits(),
              [&](const uint64_t* s) {
                return extend(to, numeric::integer_to_integer(to.format, from.format, s[0], sat));
              },
              8);
      }
}

TEST(Convert, IntegerToFloat) {
  for (const Float& to : kFloats)
    for (const Integer& from : kIntegers)
      for (const auto& [name, rounding] : kRoundings)
        for (const bool sat : {false, true}) {
          if (sat && to.format == FloatFormat::bf16)
            continue;
          const ConvertOptions o{.rounding = rounding, .sat = sat};
          check_widths(
              fmt::format("cvt.{}{}.{}.{}", name, sat ? ".sat" : "", to.name, from.name), from.bits(),
              to.bits(),
              [&](const uint64_t* s) { return numeric::integer_to_float(to.format, from.format, s[0], o); },
              8);
        }
}

TEST(Convert, FloatToInteger) {
  for (const Integer& to : kIntegers)
    for (const Float& from : kFloats)
      for (const auto& [name, rounding] : kRoundings)
        for (const bool ftz : {false, true}) {
          if (ftz && from.format != FloatFormat::f32)
            continue;
          const Expected reference = [&, rounding = rounding](const uint64_t* s) {
            return extend(to, numeric::float_to_integer(to.format, from.format, s[0], rounding, ftz));
          };
          const std::string spelling =
              fmt::format("cvt.{}i{}.{}.{}", name, ftz ? ".ftz" : "", to.name, from.name);
          check_widths(spelling, from.bits(), to.bits(), reference, 8);
          // Around the bounds of the integer.
          CheckOptions edge;
          edge.warps = 8;
          edge.source = [&](int, uint64_t r) {
            const int power = int(r % 3) == 0 ? to.bits() : to.bits() - 1;
            const uint64_t bound =
                numeric::encode(from.format, {(r >> 8 & 1) != 0, power, (r >> 9 & 1) != 0 ? 1u : 0u});
            const uint64_t near = bound + (r >> 16 & 7) - 3;
            return (r >> 20 & 7) == 0 ? numeric::encode(from.format, {(r >> 8 & 1) != 0, -1, r >> 40 & 0x3ff})
                                      : near;
          };
          check(spelling, reference, edge);
        }
}

// What widening does to NaN is said in one place, numeric's convert_nan(); types to themselves are moves
// unless modified, but half precision, which is an addition.
TEST(Convert, WideningFloats) {
  for (const bool ftz : {false, true})
    for (const bool sat : {false, true}) {
      const ConvertOptions o{.ftz = ftz, .sat = sat};
      const auto spelling = [&](const char* pair) {
        return fmt::format("cvt{}{}.{}", ftz ? ".ftz" : "", sat ? ".sat" : "", pair);
      };
      check_widths(spelling("f64.f32"), 32, 64, [&](const uint64_t* s) {
        return numeric::convert_float(FloatFormat::f64, FloatFormat::f32, s[0], o);
      });
      check_widths(spelling("f32.f16"), 16, 32, [&](const uint64_t* s) {
        return numeric::convert_float(FloatFormat::f32, FloatFormat::f16, s[0], o);
      });
      if (!ftz)
        check_widths(spelling("f64.f16"), 16, 64, [&](const uint64_t* s) {
          return numeric::convert_float(FloatFormat::f64, FloatFormat::f16, s[0], o);
        });
      check_widths(spelling("f32.f32"), 32, 32, [&](const uint64_t* s) {
        return ftz || sat ? numeric::convert_float(FloatFormat::f32, FloatFormat::f32, s[0], o) : s[0];
      });
    }
  check_widths("cvt.f32.bf16", 16, 32, [](const uint64_t* s) { return s[0] << 16; });
  check_widths("cvt.ftz.f32.bf16", 16, 32, [](const uint64_t* s) {
    return numeric::convert_float(FloatFormat::f32, FloatFormat::bf16, s[0], {.ftz = true});
  });
  check_widths("cvt.f64.f64", 64, 64, [](const uint64_t* s) { return s[0]; });
  check_widths("cvt.sat.f64.f64", 64, 64, [](const uint64_t* s) {
    return numeric::convert_float(FloatFormat::f64, FloatFormat::f64, s[0], {.sat = true});
  });
  for (const bool sat : {false, true})
    check_widths(fmt::format("cvt{}.f16.f16", sat ? ".sat" : ""), 16, 16, [&](const uint64_t* s) {
      return numeric::convert_float(FloatFormat::f16, FloatFormat::f16, s[0], {.sat = sat});
    });
}

TEST(Convert, ToIntegralValues) {
  for (const Float& t : kFloats) {
    if (t.format == FloatFormat::bf16)
      continue;
    for (const auto& [name, rounding] : kRoundings)
      for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
          if (ftz && t.format != FloatFormat::f32)
            continue;
          check_widths(
              fmt::format("cvt.{}i{}{}.{}.{}", name, ftz ? ".ftz" : "", sat ? ".sat" : "", t.name, t.name),
              t.bits(), t.bits(), [&, rounding = rounding](const uint64_t* s) {
                return numeric::round_to_integral(t.format, s[0], rounding, ftz, sat);
              });
        }
  }
}

TEST(Convert, NarrowingFloats) {
  for (const auto& [name, rounding] : kRoundings)
    for (const bool sat : {false, true})
      for (const bool ftz : {false, true}) {
        const ConvertOptions o{.rounding = rounding, .ftz = ftz, .sat = sat};
        check_widths(fmt::format("cvt.{}{}{}.f32.f64", name, ftz ? ".ftz" : "", sat ? ".sat" : ""), 64, 32,
                     [&](const uint64_t* s) {
                       return numeric::convert_float(FloatFormat::f32, FloatFormat::f64, s[0], o);
                     });
        if (ftz) { // where the boundary is
          // At 2^-126 (1 - 2^-24), which rounding away from zero has no need to change, ptxas still keeps.
          constexpr uint64_t kRange = 0x3810000000000000, kKept = kRange - (uint64_t{1} << 29);
          CheckOptions edge;
          edge.source = [](int, uint64_t r) {
            const uint64_t last = (r >> 8 & 7) == 0 ? 0 : uint64_t{1} << (26 + r % 5);
            return kRange - last + (r >> 32 & 3) - 1 + (r >> 63 << 63);
          };
          check(
              fmt::format("cvt.{}.ftz{}.f32.f64", name, sat ? ".sat" : ""),
              [&, rounding = rounding](const uint64_t* s) -> uint64_t {
                const bool negative = s[0] >> 63 != 0;
                const bool away = rounding == (negative ? Rounding::rm : Rounding::rp);
                if (away && (s[0] << 1 >> 1) == kKept)
                  return negative ? (sat ? 0 : 0x80800000) : 0x00800000;
                return numeric::convert_float(FloatFormat::f32, FloatFormat::f64, s[0], o);
              },
              edge);
        }
        if (ftz)
          continue;
        for (const Float& from : {kFloats[2], kFloats[3]})
          check_widths(fmt::format("cvt.{}{}.f16.{}", name, sat ? ".sat" : "", from.name), from.bits(), 16,
                       [&](const uint64_t* s) {
                         return numeric::convert_float(FloatFormat::f16, from.format, s[0], o);
                       });
      }
  for (const auto& [name, rounding] : {kRoundings[0], kRoundings[1]})
    for (const bool relu : {false, true})
      for (const bool satfinite : {false, true}) {
        const ConvertOptions o{.rounding = rounding, .satfinite = satfinite, .relu = relu};
        const std::string modifiers =
            fmt::format("{}{}{}", name, relu ? ".relu" : "", satfinite ? ".satfinite" : "");
        for (const Float& to : {kFloats[0], kFloats[1]}) {
          const auto convert = [&](uint64_t a) {
            return numeric::convert_float(to.format, FloatFormat::f32, a, o);
          };
          check_widths(
              fmt::format("cvt.{}.{}.f32", modifiers, to.name), 32, 16,
              [&](const uint64_t* s) { return convert(s[0]); }, 64);
          check(fmt::format("cvt.{}.{}x2.f32", modifiers, to.name),
                [&](const uint64_t* s) { return convert(s[0]) << 16 | convert(s[1]); });
        }
      }
}

// Every f32 whose low bits are near the middle of two halves.
TEST(Convert, NarrowingRoundsTiesToEven) {
  CheckOptions options;
  options.warps = 512;
  options.source = [](int, uint64_t r) {
    const uint64_t exponent = 127 - 26 + r % 44, fraction = (r >> 8 & 0x3ff) << 13;
    return (r >> 63 << 31) | exponent << 23 | ((fraction + 0x1000 + (r >> 32 & 3) - 1) & 0x7fffff);
  };
  check(
      "cvt.rn.f16.f32",
      [](const uint64_t* s) { return numeric::convert_float(FloatFormat::f16, FloatFormat::f32, s[0]); },
      options);
}

TEST(Convert, Tf32) {
  for (const auto& [name, rounding] : {kRoundings[0], kRoundings[1]})
    for (const bool relu : {false, true})
      for (const bool satfinite : {false, true}) {
        const ConvertOptions o{.rounding = rounding, .satfinite = satfinite, .relu = relu};
        check(fmt::format("cvt.{}{}{}.tf32.f32", name, relu ? ".relu" : "", satfinite ? ".satfinite" : ""),
              [&](const uint64_t* s) {
                return numeric::convert_float(FloatFormat::tf32, FloatFormat::f32, s[0], o);
              });
      }
  // As ptxas spells it: add half a unit unless infinite or NaN, cut.
  const auto away = [](uint64_t a) {
    return ((a & 0x7fffffff) < 0x7f800000 ? uint32_t(a) + 0x1000 : uint32_t(a)) & 0xffffe000u;
  };
  check("cvt.rna.tf32.f32", [&](const uint64_t* s) { return uint64_t{away(s[0])}; });
  check("cvt.rna.satfinite.tf32.f32", [&](const uint64_t* s) {
    const uint32_t d = away(s[0]);
    return uint64_t{(d & 0x7fffffff) >= 0x7f800000 ? d - 0x2000 : d};
  });
  check("cvt.rna.tf32.f32", [](const uint64_t* s) {
    return numeric::convert_float(FloatFormat::tf32, FloatFormat::f32, s[0], {.rounding = Rounding::rna});
  });
  check("cvt.rna.satfinite.tf32.f32", [](const uint64_t* s) {
    return numeric::convert_float(FloatFormat::tf32, FloatFormat::f32, s[0],
                                  {.rounding = Rounding::rna, .satfinite = true});
  });
}

TEST(Convert, Fp8) {
  for (const auto& [name, format] :
       {std::pair("e4m3x2", FloatFormat::e4m3), std::pair("e5m2x2", FloatFormat::e5m2)})
    for (const bool relu : {false, true}) {
      const ConvertOptions o{.satfinite = true, .relu = relu};
      const char* modifier = relu ? ".relu" : "";
      const auto from_f32 = [&, format = format](const uint64_t* s) {
        return numeric::convert_float(format, FloatFormat::f32, s[0], o) << 8 |
               numeric::convert_float(format, FloatFormat::f32, s[1], o);
      };
      CheckOptions options;
      options.warps = 256;
      check(fmt::format("cvt.rn.satfinite{}.{}.f32", modifier, name), from_f32, options);
      options.source = [](int, uint64_t r) { // the range of the format, and ties
        const uint64_t exponent = 127 - 20 + r % 38, fraction = (r >> 8 & 0x3f) << 17;
        return (r >> 63 << 31) | exponent << 23 | ((fraction + (r >> 32 & 3) - 1) & 0x7fffff);
      };
      check(fmt::format("cvt.rn.satfinite{}.{}.f32", modifier, name), from_f32, options);
      options.source = nullptr;
      check(
          fmt::format("cvt.rn.satfinite{}.{}.f16x2", modifier, name),
          [&, format = format](const uint64_t* s) {
            return numeric::convert_float(format, FloatFormat::f16, s[0] >> 16, o) << 8 |
                   numeric::convert_float(format, FloatFormat::f16, s[0] & 0xffff, o);
          },
          options);
      check(fmt::format("cvt.rn{}.f16x2.{}", modifier, name), [&, format = format](const uint64_t* s) {
        return numeric::convert_float(FloatFormat::f16, format, s[0] >> 8 & 0xff, {.relu = relu}) << 16 |
               numeric::convert_float(FloatFormat::f16, format, s[0] & 0xff, {.relu = relu});
      });
    }
}

// All 2^16 pairs of fp8, so that each byte is met in each place.
TEST(Convert, Fp8Exhaustively) {
  for (const auto& [name, format] :
       {std::pair("e4m3x2", FloatFormat::e4m3), std::pair("e5m2x2", FloatFormat::e5m2)}) {
    Machine machine;
    for (uint64_t high = 0; high < 256; ++high)
      for (uint64_t low = 0; low < 256; low += kWarpSize) {
        std::vector<uint64_t> lanes;
        for (int lane = 0; lane < kWarpSize; ++lane)
          lanes.push_back(high << 8 | (low + lane));
        const auto d = machine.run(fmt::format("cvt.rn.f16x2.{}", name), {lanes});
        for (int lane = 0; lane < kWarpSize; ++lane)
          ASSERT_EQ(d[lane], numeric::convert_float(FloatFormat::f16, format, high) << 16 |
                                 numeric::convert_float(FloatFormat::f16, format, low + lane))
              << name << " " << lanes[lane];
      }
  }
}

TEST(Convert, Pack) {
  const auto clamp = [](uint64_t raw, int bits, bool is_signed) {
    const int64_t a = int32_t(raw), lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
                  highest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    return uint64_t(std::max(lowest, std::min(highest, a))) & ((uint64_t{1} << bits) - 1);
  };
  CheckOptions near;
  near.source = [](int source, uint64_t r) { return source == 2 ? r : uint64_t(int64_t(r % 700) - 350); };
  for (const CheckOptions& options : {CheckOptions{}, near})
    for (const char* type : {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"}) {
      const bool is_signed = type[0] == 's';
      const int bits = std::atoi(type + 1);
      check(
          fmt::format("cvt.pack.sat.{}.s32{}", type, bits == 16 ? "" : ".b32"),
          [&](const uint64_t* s) {
            const uint64_t pair = clamp(s[0], bits, is_signed) << bits | clamp(s[1], bits, is_signed);
            return bits == 16 ? pair : s[2] << 2 * bits | pair;
          },
          options);
    }
}

} // namespace
} // namespace lemma::vgpu

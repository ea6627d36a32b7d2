// cvt to and from floats of four to eight bits, scales and fixed point, against a plain model in doubles:
// every input, or every one that can differ.
#include "arithmetic_fixture.h"
#include "narrow_formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

// Every 16-bit number in each half.
TEST(ConvertNarrow, HalvesToNarrowExhaustively) {
  for (const Narrow& narrow : kNarrow)
    for (const bool bf16 : {false, true})
      for (const bool relu : {false, true}) {
        const std::string spelling = fmt::format("cvt.rn.satfinite{}.{}.{}", relu ? ".relu" : "", narrow.name,
                                                 bf16 ? "bf16x2" : "f16x2");
        const int width = narrow.bits == 4 ? 4 : 8;
        std::vector<unsigned> codes(1 << 16);
        for (uint64_t bits = 0; bits < codes.size(); ++bits) {
          const double x = bf16 ? value_of_bf16(bits) : value_of_f16(bits);
          codes[bits] = narrow.nearest(relu && x <= 0 ? 0.0 : x);
        }
        Machine machine;
        for (uint64_t first = 0; first < codes.size(); first += kWarpSize) {
          std::vector<uint64_t> lanes;
          for (uint64_t lane = 0; lane < kWarpSize; ++lane)
            lanes.push_back((first + lane) << 16 | ((first + lane) * 40503 & 0xffff));
          const auto d = machine.run(spelling, {lanes});
          for (int lane = 0; lane < kWarpSize; ++lane)
            ASSERT_EQ(d[lane], codes[lanes[lane] >> 16] << width | codes[lanes[lane] & 0xffff])
                << spelling << " " << lanes[lane];
        }
      }
}

// Every pair of codes; with scales, every code with every scale.
TEST(ConvertNarrow, NarrowToBf16Exhaustively) {
  for (const Narrow& narrow : kNarrow)
    for (const bool relu : {false, true})
      for (const bool satfinite : {false, true})
        for (const bool scaled : {false, true}) {
          const std::string spelling =
              fmt::format("cvt.rn{}{}{}.bf16x2.{}", relu ? ".relu" : "", satfinite ? ".satfinite" : "",
                          scaled ? ".scaled::n2::ue8m0" : "", narrow.name);
          const int width = narrow.bits == 4 ? 4 : 8;
          const auto expected = [&](unsigned code, unsigned scale) {
            code &= (1u << narrow.bits) - 1;
            double x = narrow.is_nan(code) || scale == 0xff ? NAN
                       : narrow.is_infinity(code)           ? INFINITY
                                                            : narrow.value(code);
            x = narrow.is_infinity(code) && (code & 0x80) != 0 ? -x : x;
            x = std::ldexp(x, int(scale) - 127);
            return bf16_of(relu && x <= 0 ? 0.0 : x, satfinite);
          };
          Machine machine;
          for (uint64_t first = 0; first < 1 << 16; first += kWarpSize) {
            std::vector<uint64_t> lanes, scales;
            for (uint64_t lane = 0; lane < kWarpSize; ++lane) {
              const uint64_t bits = first + lane, code = bits & 0xff;
              lanes.push_back(scaled ? code << width | (code ^ 5) : bits >> 8 << width | code);
              scales.push_back(scaled ? (bits & 0xff00) | (255 - (bits >> 8)) : 0x7f7f);
            }
            const auto d = scaled ? machine.run(spelling, {lanes, scales}) : machine.run(spelling, {lanes});
            for (int lane = 0; lane < kWarpSize; ++lane)
              ASSERT_EQ(d[lane], expected(unsigned(lanes[lane] >> width), unsigned(scales[lane] >> 8)) << 16 |
                                     expected(unsigned(lanes[lane] & ((1 << width) - 1)),
                                              unsigned(scales[lane] & 0xff)))
                  << spelling << " " << lanes[lane] << " " << scales[lane];
          }
        }
}

// What is converted from f32 to seven bits of fraction and less follows from the upper half and from whether
// the lower one is zero.
template <class F>
void for_all_f32(F&& f) {
  for (uint64_t first = 0; first < 1 << 16; first += kWarpSize)
    for (const uint64_t low : {0u, 1u}) {
      std::vector<uint64_t> lanes;
      for (uint64_t lane = 0; lane < kWarpSize; ++lane)
        lanes.push_back((first + lane) << 16 | low);
      f(lanes);
    }
}
double value_of_f32(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

TEST(ConvertNarrow, AllF32ToPairs) {
  for (const Narrow& narrow : kNarrow)
    for (const bool relu : {false, true}) {
      const std::string spelling = fmt::format("cvt.rn.satfinite{}.{}.f32", relu ? ".relu" : "", narrow.name);
      const int width = narrow.bits == 4 ? 4 : 8;
      const auto expected = [&](uint64_t bits) {
        const double x = value_of_f32(bits);
        return uint64_t{narrow.nearest(relu && x <= 0 ? 0.0 : x)};
      };
      Machine machine;
      for_all_f32([&](const std::vector<uint64_t>& lanes) {
        std::vector<uint64_t> other = lanes;
        std::reverse(other.begin(), other.end());
        const auto d = machine.run(spelling, {lanes, other});
        for (int lane = 0; lane < kWarpSize; ++lane)
          ASSERT_EQ(d[lane], expected(lanes[lane]) << width | expected(other[lane]))
              << spelling << " " << lanes[lane] << " " << other[lane];
      });
    }
}

uint64_t f16_of(double x) {
  if (std::isnan(x))
    return 0x7fff;
  const double magnitude = std::abs(x);
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const double units =
      std::isinf(x) ? 0 : std::ldexp(magnitude, 10 - exponent); // whole: every code is a half
  const uint64_t code = std::isinf(x) ? 0x7c00 : (uint64_t(exponent + 14) << 10) + uint64_t(units);
  return (std::signbit(x) ? 0x8000 : 0) | code;
}

TEST(ConvertNarrow, AllPairsToF16) {
  for (const Narrow& narrow : kNarrow)
    for (const bool relu : {false, true}) {
      const std::string spelling = fmt::format("cvt.rn{}.f16x2.{}", relu ? ".relu" : "", narrow.name);
      const int width = narrow.bits == 4 ? 4 : 8;
      const auto expected = [&](uint64_t code) {
        code &= (1u << narrow.bits) - 1;
        double x = narrow.is_nan(unsigned(code))        ? NAN
                   : narrow.is_infinity(unsigned(code)) ? ((code & 0x80) != 0 ? -INFINITY : INFINITY)
                                                        : narrow.value(unsigned(code));
        return f16_of(relu && x <= 0 ? 0.0 : x);
      };
      Machine machine;
      for (uint64_t first = 0; first < uint64_t{1} << 2 * width; first += kWarpSize) {
        std::vector<uint64_t> lanes;
        for (uint64_t lane = 0; lane < kWarpSize; ++lane)
          lanes.push_back(first + lane);
        const auto d = machine.run(spelling, {lanes});
        for (int lane = 0; lane < kWarpSize; ++lane)
          ASSERT_EQ(d[lane],
                    expected(lanes[lane] >> width) << 16 | expected(lanes[lane] & ((1u << width) - 1)))
              << spelling << " " << lanes[lane];
      }
    }
}

// --- scales: ue8m0, 2^(code - 127), 255 being NaN

// Of magnitudes the nearest in the rounding's direction; of what is below them the least.
uint64_t ue8m0_of(double x, bool up, bool satfinite) {
  if (std::isnan(x))
    return 0xff;
  const double magnitude = std::abs(x);
  if (magnitude == 0)
    return 0;
  if (std::isinf(x))
    return satfinite ? 0xfe : 0xff;
  int exponent = std::ilogb(magnitude);
  exponent += up && magnitude != std::ldexp(1, exponent);
  if (exponent > 127)
    return satfinite ? 0xfe : 0xff;
  return uint64_t(std::max(exponent, -127) + 127);
}

TEST(ConvertNarrow, ScalesOfAllF32AndBf16) {
  for (const bool up : {false, true})
    for (const bool satfinite : {false, true})
      for (const bool bf16 : {false, true}) {
        const std::string spelling = fmt::format("cvt.{}{}.ue8m0x2.{}", up ? "rp" : "rz",
                                                 satfinite ? ".satfinite" : "", bf16 ? "bf16x2" : "f32");
        const auto expected = [&](uint64_t f32) { return ue8m0_of(value_of_f32(f32), up, satfinite); };
        Machine machine;
        for_all_f32([&](const std::vector<uint64_t>& lanes) {
          std::vector<uint64_t> other = lanes, packed;
          std::reverse(other.begin(), other.end());
          for (int lane = 0; lane < kWarpSize; ++lane)
            packed.push_back((lanes[lane] & 0xffff0000) | other[lane] >> 16);
          const auto d = bf16 ? machine.run(spelling, {packed}) : machine.run(spelling, {lanes, other});
          const uint64_t mask = bf16 ? 0xffff0000 : 0xffffffff;
          for (int lane = 0; lane < kWarpSize; ++lane)
            ASSERT_EQ(d[lane], expected(lanes[lane] & mask) << 8 | expected(other[lane] & mask))
                << spelling << " " << lanes[lane] << " " << other[lane];
        });
      }
}

TEST(ConvertNarrow, AllScalesToBf16) {
  const auto expected = [](uint64_t code) {
    return bf16_of(code == 0xff ? NAN : std::ldexp(1, int(code) - 127), false);
  };
  Machine machine;
  for (uint64_t first = 0; first < 1 << 16; first += kWarpSize) {
    std::vector<uint64_t> lanes;
    for (uint64_t lane = 0; lane < kWarpSize; ++lane)
      lanes.push_back(first + lane);
    const auto d = machine.run("cvt.rn.bf16x2.ue8m0x2", {lanes});
    for (int lane = 0; lane < kWarpSize; ++lane)
      ASSERT_EQ(d[lane], expected(lanes[lane] >> 8) << 16 | expected(lanes[lane] & 0xff)) << lanes[lane];
  }
}

// --- fixed point: s2f6, an s8 over 64

uint64_t s2f6_of(double x, bool relu) {
  if (std::isnan(x))
    return 0x7f;
  const double units = std::nearbyint(x * 64); // ties to even
  const double clamped = std::max(relu ? 0.0 : -128.0, std::min(127.0, units));
  return static_cast<uint8_t>(static_cast<int8_t>(clamped));
}

TEST(ConvertNarrow, FixedPointOfAllF32AndBf16) {
  for (const bool relu : {false, true})
    for (const bool bf16 : {false, true})
      for (const int scale : {-1, 127, 0, 1, 120, 130, 254, 255}) { // -1: none is given
        const std::string spelling =
            fmt::format("cvt.rn.satfinite{}{}.s2f6x2.{}", relu ? ".relu" : "",
                        scale < 0 ? "" : ".scaled::n2::ue8m0", bf16 ? "bf16x2" : "f32");
        const auto expected = [&](uint64_t f32, int by) {
          return s2f6_of(by == 255 ? NAN : std::ldexp(value_of_f32(f32), by < 0 ? 0 : 127 - by), relu);
        };
        Machine machine;
        for_all_f32([&](const std::vector<uint64_t>& lanes) {
          std::vector<uint64_t> other = lanes, packed;
          std::reverse(other.begin(), other.end());
          for (int lane = 0; lane < kWarpSize; ++lane)
            packed.push_back((lanes[lane] & 0xffff0000) | other[lane] >> 16);
          std::vector<std::vector<uint64_t>> sources{packed};
          if (!bf16)
            sources = {lanes, other};
          if (scale >= 0)
            sources.emplace_back(kWarpSize, uint64_t(scale) << 8 | 127);
          const auto d = machine.run(spelling, sources);
          const uint64_t mask = bf16 ? 0xffff0000 : 0xffffffff;
          for (int lane = 0; lane < kWarpSize; ++lane)
            ASSERT_EQ(d[lane], expected(lanes[lane] & mask, scale) << 8 |
                                   expected(other[lane] & mask, scale < 0 ? scale : 127))
                << spelling << " " << scale << " " << lanes[lane] << " " << other[lane];
        });
      }
}

TEST(ConvertNarrow, AllFixedPointToBf16) {
  for (const bool relu : {false, true})
    for (const bool satfinite : {false, true})
      for (const bool scaled : {false, true}) {
        const std::string spelling =
            fmt::format("cvt.rn{}{}{}.bf16x2.s2f6x2", relu ? ".relu" : "", satfinite ? ".satfinite" : "",
                        scaled ? ".scaled::n2::ue8m0" : "");
        const auto expected = [&](uint64_t code, uint64_t scale) {
          const double x = scale == 0xff ? NAN : std::ldexp(static_cast<int8_t>(code), int(scale) - 127 - 6);
          return bf16_of(relu && x <= 0 ? 0.0 : x, satfinite);
        };
        Machine machine;
        for (uint64_t first = 0; first < 1 << 16; first += kWarpSize) {
          std::vector<uint64_t> codes, scales; // every code with every other, or with every scale
          for (uint64_t lane = 0; lane < kWarpSize; ++lane) {
            const uint64_t bits = first + lane;
            codes.push_back(scaled ? (bits & 0xff) << 8 | (bits & 0xff) : bits);
            scales.push_back(scaled ? (bits & 0xff00) | (255 - (bits >> 8)) : 0x7f7f);
          }
          const auto d = scaled ? machine.run(spelling, {codes, scales}) : machine.run(spelling, {codes});
          for (int lane = 0; lane < kWarpSize; ++lane)
            ASSERT_EQ(d[lane], expected(codes[lane] >> 8 & 0xff, scales[lane] >> 8) << 16 |
                                   expected(codes[lane] & 0xff, scales[lane] & 0xff))
                << spelling << " " << codes[lane] << " " << scales[lane];
        }
      }
}

// --- stochastic rounding

struct Rounded {
  const char* name;
  int mantissa, bias, bits, random_bits;
  uint64_t largest, beyond, nan; // codes without sign
};
constexpr Rounded kRounded[] = {{"f16x2", 10, 15, 16, 13, 0x7bff, 0x7c00, 0x7fff},
                                {"bf16x2", 7, 127, 16, 16, 0x7f7f, 0x7f80, 0x7fff},
                                {"e4m3x4", 3, 7, 8, 16, 0x7e, 0x7e, 0x7f},
                                {"e5m2x4", 2, 15, 8, 16, 0x7b, 0x7b, 0x7f},
                                {"e2m3x4", 3, 1, 6, 16, 0x1f, 0x1f, 0x1f},
                                {"e3m2x4", 2, 3, 6, 16, 0x1f, 0x1f, 0x1f},
                                {"e2m1x4", 1, 1, 4, 16, 0x7, 0x7, 0x7}};

// The random number is added below the last place, as so many bits, and what is below it is dropped.
uint64_t round_by(const Rounded& to, double x, uint64_t random, bool satfinite) {
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << (to.bits - 1) : 0;
  if (std::isnan(x))
    return to.nan;
  const uint64_t beyond = sign | (satfinite ? to.largest : to.beyond);
  if (std::isinf(x))
    return beyond;
  const double magnitude = std::abs(x);
  const int least = 1 - to.bias;
  const int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  const double units = std::ldexp(magnitude, to.mantissa - exponent), whole = std::floor(units);
  const double below = std::floor(std::ldexp(units - whole, to.random_bits));
  const uint64_t up = (uint64_t(below) + random) >> to.random_bits;
  if (exponent - least > 255)
    return beyond;
  const uint64_t code = (uint64_t(exponent - least) << to.mantissa) + uint64_t(whole) + up;
  return code > to.largest ? beyond : sign | code;
}

TEST(ConvertNarrow, RandomBitsRound) {
  Random random(7);
  for (const Rounded& to : kRounded)
    for (const bool relu : {false, true})
      for (const bool optional : {false, true}) {
        const int elements = to.bits == 16 ? 2 : 4;
        const bool satfinite = elements == 4 || optional;
        const std::string spelling =
            fmt::format("cvt.rs{}{}.{}.f32", relu ? ".relu" : "", satfinite ? ".satfinite" : "", to.name);
        Machine machine;
        for (int i = 0; i < 2048; ++i) {
          std::vector<std::vector<uint64_t>> sources(elements + 1, std::vector<uint64_t>(kWarpSize));
          for (auto& lanes : sources)
            for (uint64_t& bits : lanes) {
              bits = random() & 0xffffffff;
              if (&lanes != &sources.back() && (bits & 3) != 0) // numbers that the format has
                bits = (bits & 0x807fffff) | (127 - to.bias - 4 + (bits >> 8) % (2 * to.bias + 8)) % 255
                                                 << 23;
            }
          const auto d = machine.run(spelling, sources);
          for (int lane = 0; lane < kWarpSize; ++lane) {
            const uint64_t rbits = sources.back()[lane];
            uint64_t expected = 0;
            for (int e = 0; e < elements; ++e) {
              const bool upper = e < elements / 2;
              const uint64_t half = upper ? rbits >> 16 : rbits & 0xffff;
              const uint64_t given = to.bits != 4 ? half & ((1u << to.random_bits) - 1)
                                     : upper      ? (rbits >> 24) << 8 | (rbits >> 8 & 0xff)
                                                  : (rbits >> 16 & 0xff) << 8 | (rbits & 0xff);
              const double x = value_of_f32(sources[e][lane]);
              const int width = to.bits == 6 ? 8 : to.bits;
              expected = expected << width | round_by(to, relu && x <= 0 ? 0.0 : x, given, satfinite);
            }
            ASSERT_EQ(d[lane], expected) << spelling << " lane " << lane << " " << rbits;
          }
        }
      }
}

} // namespace
} // namespace lemma::vgpu

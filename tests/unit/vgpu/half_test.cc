// Half-precision arithmetic against src/numeric, one element and two a lane.
#include "arithmetic_fixture.h"
#include "numeric/arithmetic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

using numeric::ArithmeticOptions;
using numeric::FloatFormat;
using numeric::MinMaxOptions;

struct HalfType {
  const char* name;
  FloatFormat format;
  int elements;
  bool has_ftz_and_sat;
};
constexpr HalfType kTypes[] = {{"f16", FloatFormat::f16, 1, true},
                               {"f16x2", FloatFormat::f16, 2, true},
                               {"bf16", FloatFormat::bf16, 1, false},
                               {"bf16x2", FloatFormat::bf16, 2, false}};

// `f` on each element of the sources.
Expected elementwise(const HalfType& t, const std::function<uint64_t(const uint64_t*)>& f) {
  return [&t, f](const uint64_t* s) {
    uint64_t d = 0;
    for (int at = 0; at < 16 * t.elements; at += 16) {
      const uint64_t elements[3] = {s[0] >> at & 0xffff, s[1] >> at & 0xffff, s[2] >> at & 0xffff};
      d |= f(elements) << at;
    }
    return d;
  };
}
Expected padded(const Expected& f, int sources) { // reads no more sources than there are
  return [f, sources](const uint64_t* s) {
    uint64_t copy[3] = {};
    for (int i = 0; i < sources; ++i)
      copy[i] = s[i];
    return f(copy);
  };
}
void check_elements(const std::string& spelling, const HalfType& t, int sources,
                    const std::function<uint64_t(const uint64_t*)>& f) {
  CheckOptions options;
  options.warps = 256;
  check(spelling, padded(elementwise(t, f), sources), options);
}

TEST(Half, SumsAndProducts) {
  for (const HalfType& t : kTypes)
    for (const char* rounding : {"", ".rn"})
      for (const bool ftz : {false, true})
        for (const bool sat : {false, true}) {
          if ((ftz || sat) && !t.has_ftz_and_sat)
            continue;
          const ArithmeticOptions o{.ftz = ftz, .sat = sat};
          const auto spelling = [&](const char* opcode) {
            return fmt::format("{}{}{}{}.{}", opcode, rounding, ftz ? ".ftz" : "", sat ? ".sat" : "", t.name);
          };
          check_elements(spelling("add"), t, 2,
                         [&](const uint64_t* e) { return numeric::add(t.format, e[0], e[1], o); });
          check_elements(spelling("sub"), t, 2,
                         [&](const uint64_t* e) { return numeric::sub(t.format, e[0], e[1], o); });
          check_elements(spelling("mul"), t, 2,
                         [&](const uint64_t* e) { return numeric::mul(t.format, e[0], e[1], o); });
        }
}

TEST(Half, Fma) {
  for (const HalfType& t : kTypes)
    for (const bool ftz : {false, true})
      for (const char* clamp : {"", ".sat", ".relu"}) {
        const bool sat = std::string_view(clamp) == ".sat", relu = std::string_view(clamp) == ".relu";
        if ((ftz || sat) && !t.has_ftz_and_sat)
          continue;
        const ArithmeticOptions o{.ftz = ftz, .sat = sat, .relu = relu};
        check_elements(fmt::format("fma.rn{}{}.{}", ftz ? ".ftz" : "", clamp, t.name), t, 3,
                       [&](const uint64_t* e) { return numeric::fma(t.format, e[0], e[1], e[2], o); });
      }
}

TEST(Half, FmaOutOfBounds) {
  for (const HalfType& t : kTypes)
    for (const bool relu : {false, true}) {
      const ArithmeticOptions o{.relu = relu, .oob = true};
      CheckOptions options;
      options.source = [&](int,
                           uint64_t r) { // in a fourth the lowest, in another the highest element is the NaN
        const uint64_t bits = r >> 8, nan = numeric::kOobNan | (r >> 7 & 1) << 15;
        const uint64_t low = r % 4 == 0 ? nan : bits & 0xffff;
        return t.elements == 1 ? low : (r % 4 == 1 ? nan : bits >> 16 & 0xffff) << 16 | low;
      };
      check(fmt::format("fma.rn.oob{}.{}", relu ? ".relu" : "", t.name),
            elementwise(t, [&](const uint64_t* e) { return numeric::fma(t.format, e[0], e[1], e[2], o); }),
            options);
    }
}

// Operands whose sum lies just beside the middle of two halves, where rounding twice would show.
TEST(Half, FmaRoundsOnce) {
  CheckOptions options;
  options.warps = 256;
  for (const HalfType& t : kTypes) {
    if (t.elements != 1)
      continue;
    const numeric::FormatTraits& f = numeric::traits(t.format);
    for (const bool small : {false, true}) {
      options.source = [&](int source, uint64_t r) {
        const uint64_t fraction = source == 2 ? (r & 1) : (r >> 8 & 7) * 3 + 1;
        const uint64_t factor =
            (small ? f.bias / 2 : f.bias) + (r >> 32 & 3); // of products near 1, or 2^-bias
        const uint64_t addend = small ? r >> 32 & 3 : r >> 32 & (f.max_biased_exponent() / 2);
        return (r >> 63 << 15) | (source == 2 ? addend : factor) << f.mantissa_bits | fraction;
      };
      check(
          fmt::format("fma.rn.{}", t.name),
          [&](const uint64_t* s) { return numeric::fma(t.format, s[0], s[1], s[2]); }, options);
    }
  }
}

TEST(Half, MinMax) {
  for (const HalfType& t : kTypes)
    for (const bool ftz : {false, true})
      for (const bool nan : {false, true})
        for (const bool xorsign : {false, true}) {
          if (ftz && !t.has_ftz_and_sat)
            continue;
          const MinMaxOptions o{.ftz = ftz, .nan = nan, .xorsign_abs = xorsign};
          const auto spelling = [&](const char* opcode) {
            return fmt::format("{}{}{}{}.{}", opcode, ftz ? ".ftz" : "", nan ? ".NaN" : "",
                               xorsign ? ".xorsign.abs" : "", t.name);
          };
          check_elements(spelling("min"), t, 2,
                         [&](const uint64_t* e) { return numeric::min(t.format, e[0], e[1], o); });
          check_elements(spelling("max"), t, 2,
                         [&](const uint64_t* e) { return numeric::max(t.format, e[0], e[1], o); });
        }
}

// Additions of -0 on sm_90, so that NaN comes out canonical.
TEST(Half, Signs) {
  for (const HalfType& t : kTypes)
    for (const bool ftz : {false, true}) {
      if (ftz && !t.has_ftz_and_sat)
        continue;
      const auto input = [&](uint64_t a) { return ftz ? numeric::flush_subnormal(t.format, a) : a; };
      const auto settle = [&](uint64_t a) { return numeric::is_nan(t.format, a) ? uint64_t{0x7fff} : a; };
      const char* suffix = ftz ? ".ftz" : "";
      check_elements(fmt::format("abs{}.{}", suffix, t.name), t, 1,
                     [&](const uint64_t* e) { return settle(input(e[0]) & 0x7fff); });
      check_elements(fmt::format("neg{}.{}", suffix, t.name), t, 1,
                     [&](const uint64_t* e) { return settle(input(e[0]) ^ 0x8000); });
    }
}

} // namespace
} // namespace lemma::vgpu

// add, sub, mul and fma of four small floats at once, against a plain model in doubles: every pair of
// elements, of fma random ones.
#include "arithmetic_fixture.h"
#include "narrow_formats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace lemma::vgpu {
namespace {

// How a type's elements lie in a register, and their values. `narrow` is none for scales, 2^(code - 127).
struct Small {
  const char* name;
  const Narrow* narrow;
  int bits; // that an element takes: more than it has are padding, which says nothing

  double value(unsigned code) const {
    if (!narrow)
      return code == 0xff ? NAN : std::ldexp(1, int(code) - 127);
    code &= (1u << narrow->bits) - 1;
    if (narrow->is_nan(code))
      return NAN;
    if (narrow->is_infinity(code))
      return (code & 0x80) != 0 ? -INFINITY : INFINITY;
    return narrow->value(code);
  }
  unsigned codes() const { return 1u << bits; }
};
constexpr Small kSmall[] = {{"e4m3x4", &kNarrow[0], 8}, {"e5m2x4", &kNarrow[1], 8},
                            {"e2m3x4", &kNarrow[2], 8}, {"e3m2x4", &kNarrow[3], 8},
                            {"e2m1x4", &kNarrow[4], 4}, {"e2m1p4x4", &kNarrow[4], 8},
                            {"ue8m0x4", nullptr, 8}};
constexpr std::array<const Small*, 2> kResults = {&kSmall[0], &kSmall[1]};

// Rounds to nearest even: beyond the largest number to it, or to infinity or, of e4m3, NaN.
class Rounding {
public:
  Rounding(const Small& to, bool satfinite)
      : largest_(to.narrow->largest), beyond_(satfinite ? largest_ : largest_ + 1) {
    for (unsigned code = 0; code <= largest_; ++code)
      values_.push_back(to.narrow->value(code));
    next_ = 2 * values_[largest_] - values_[largest_ - 1]; // the next number, had the format one
  }
  unsigned operator()(double x) const {
    constexpr unsigned kNan = 0x7f;
    if (std::isnan(x))
      return kNan;
    const double magnitude = std::abs(x);
    const unsigned sign = std::signbit(x) ? 0x80 : 0;
    const auto above =
        static_cast<unsigned>(std::lower_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    if (above == 0)
      return sign;
    const double lower = values_[above - 1], upper = above <= largest_ ? values_[above] : next_;
    const bool up =
        magnitude - lower != upper - magnitude ? magnitude - lower > upper - magnitude : above % 2 == 0;
    const unsigned code = up ? above : above - 1;
    return sign | (code <= largest_ ? code : beyond_);
  }

private:
  unsigned largest_, beyond_;
  std::vector<double> values_;
  double next_;
};

// Four elements to a register; the first is the lowest.
uint64_t packed(const Small& type, const std::array<unsigned, 4>& codes) {
  uint64_t bits = 0;
  for (int i = 3; i >= 0; --i)
    bits = bits << type.bits | codes[static_cast<size_t>(i)];
  return bits;
}

// Elements of one register after the other: pair n is code n % codes of a with code n / codes of b.
void check_pairs(const std::string& spelling, const Small& a, const Small& b,
                 const std::function<unsigned(double, double)>& expected) {
  Machine machine;
  const unsigned pairs = a.codes() * b.codes();
  for (unsigned first = 0; first < pairs; first += 4 * kWarpSize) {
    std::vector<uint64_t> as, bs, wanted;
    for (unsigned n = first; n < first + 4 * kWarpSize; n += 4) {
      std::array<unsigned, 4> x{}, y{};
      uint64_t result = 0;
      for (unsigned i = 0; i < 4; ++i) {
        x[i] = (n + i) % a.codes();
        y[i] = (n + i) / a.codes() % b.codes();
        result |= uint64_t{expected(a.value(x[i]), b.value(y[i]))} << 8 * i;
      }
      as.push_back(packed(a, x));
      bs.push_back(packed(b, y));
      wanted.push_back(result);
    }
    const auto d = machine.run(spelling, {as, bs});
    for (int lane = 0; lane < kWarpSize; ++lane)
      ASSERT_EQ(d[lane], wanted[lane]) << spelling << " " << as[lane] << " " << bs[lane];
  }
}

TEST(SmallFloats, SumsOfAllPairs) {
  for (const Small* to : kResults)
    for (const Small& a : kSmall)
      for (const bool satfinite : {false, true}) {
        const Rounding round(*to, satfinite);
        const char* modifier = satfinite ? ".satfinite" : "";
        check_pairs(fmt::format("add.rn{}.{}.{}", modifier, to->name, a.name), a, *to,
                    [&](double x, double y) { return round(x + y); });
        check_pairs(fmt::format("sub{}.{}.{}", modifier, to->name, a.name), a, *to,
                    [&](double x, double y) { return round(x - y); });
      }
}

TEST(SmallFloats, ProductsOfAllPairs) {
  for (const Small* to : kResults)
    for (const Small& a : kSmall)
      for (const Small& b : kSmall) {
        const bool satfinite = (&a - kSmall + &b - kSmall) % 2 == 0;
        const Rounding round(*to, satfinite);
        check_pairs(fmt::format("mul.rn{}.{}.{}.{}", satfinite ? ".satfinite" : "", to->name, a.name, b.name),
                    a, b, [&](double x, double y) { return round(x * y); });
      }
}

// A sum that a double does not hold lies next to the addend, which is a number of the result.
TEST(SmallFloats, ProductsPlusNumbersRoundOnce) {
  Random random(3);
  for (const Small* to : kResults)
    for (const Small& a : kSmall)
      for (const Small& b : kSmall)
        for (const bool satfinite : {false, true}) {
          const Rounding round(*to, satfinite);
          const std::string spelling =
              fmt::format("fma.rn{}.{}.{}.{}", satfinite ? ".satfinite" : "", to->name, a.name, b.name);
          Machine machine;
          for (int run = 0; run < 64; ++run) {
            std::vector<std::vector<uint64_t>> sources(3);
            std::vector<uint64_t> wanted;
            for (int lane = 0; lane < kWarpSize; ++lane) {
              std::array<unsigned, 4> x{}, y{}, z{};
              uint64_t result = 0;
              for (unsigned i = 0; i < 4; ++i) {
                const uint64_t bits = random();
                x[i] = bits % a.codes();
                y[i] = (bits >> 8) % b.codes();
                z[i] = bits >> 16 & 0xff;
                // Scales whose product is near the numbers of the result, half of the time.
                if (!a.narrow && (bits >> 32 & 1) != 0)
                  x[i] = 117 + (bits >> 33) % 20;
                if (!b.narrow && (bits >> 32 & 1) != 0)
                  y[i] = 117 + (bits >> 40) % 20;
                result |= uint64_t{round(a.value(x[i]) * b.value(y[i]) + to->value(z[i]))} << 8 * i;
              }
              sources[0].push_back(packed(a, x));
              sources[1].push_back(packed(b, y));
              sources[2].push_back(packed(*to, z));
              wanted.push_back(result);
            }
            const auto d = machine.run(spelling, sources);
            for (int lane = 0; lane < kWarpSize; ++lane)
              ASSERT_EQ(d[lane], wanted[lane]) << spelling << " " << sources[0][lane] << " "
                                               << sources[1][lane] << " " << sources[2][lane];
          }
        }
}

} // namespace
} // namespace lemma::vgpu

// Floats of four to eight bits, as doubles: stated once more, for tests to compare with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lemma::vgpu {

// Formats of four to eight bits by the definitions of the PTX ISA ("Alternate Floating-Point Data Formats"),
// so that what they are converted to and from is stated once more: `codes` without sign, the largest number
// last, then what NaN becomes.
struct Narrow {
  const char* name;
  int mantissa, bias, bits;
  unsigned largest, nan;

  double value(unsigned code) const {
    const unsigned fraction = code & ((1u << mantissa) - 1),
                   exponent = code >> mantissa & ((1u << (bits - 1 - mantissa)) - 1);
    const double magnitude = exponent == 0
                                 ? std::ldexp(fraction, 1 - bias - mantissa)
                                 : std::ldexp((1u << mantissa) + fraction, int(exponent) - bias - mantissa);
    return (code >> (bits - 1) & 1) != 0 ? -magnitude : magnitude;
  }
  bool is_nan(unsigned code) const {
    const unsigned magnitude = code & ((1u << (bits - 1)) - 1);
    return bits == 8 && magnitude > largest && (bias == 7 || magnitude != largest + 1);
  }
  bool is_infinity(unsigned code) const { return bits == 8 && bias == 15 && (code & 0x7f) == largest + 1; }
  // To nearest, ties to the even code; beyond the largest number, the largest.
  unsigned nearest(double x) const {
    if (std::isnan(x))
      return nan;
    const double magnitude = std::abs(x);
    unsigned best = 0, end = largest; // the least code that is not below it, or the largest
    while (best < end) {
      const unsigned middle = (best + end) / 2;
      if (value(middle) < magnitude)
        best = middle + 1;
      else
        end = middle;
    }
    if (best != 0 && magnitude < value(best)) {
      const double above = value(best) - magnitude, below = magnitude - value(best - 1);
      best -= below < above || (below == above && best % 2 != 0);
    }
    return (magnitude > value(largest) ? largest : best) | (std::signbit(x) ? 1u << (bits - 1) : 0);
  }
};
inline constexpr Narrow kNarrow[] = {{"e4m3x2", 3, 7, 8, 0x7e, 0x7f},
                                     {"e5m2x2", 2, 15, 8, 0x7b, 0x7f},
                                     {"e2m3x2", 3, 1, 6, 0x1f, 0x1f},
                                     {"e3m2x2", 2, 3, 6, 0x1f, 0x1f},
                                     {"e2m1x2", 1, 1, 4, 0x7, 0x7}};

inline double value_of_bf16(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
}
inline double value_of_f16(uint64_t bits) {
  const double magnitude = (bits >> 10 & 31) == 0 ? std::ldexp(bits & 1023, -24)
                           : (bits >> 10 & 31) == 31
                               ? ((bits & 1023) != 0 ? NAN : INFINITY)
                               : std::ldexp(1024 + (bits & 1023), int(bits >> 10 & 31) - 25);
  return (bits >> 15 & 1) != 0 ? -magnitude : magnitude;
}
// To nearest even.
inline uint64_t bf16_of(double x, bool satfinite) {
  constexpr uint64_t kNan = 0x7fff, kInfinity = 0x7f80, kLargest = 0x7f7f;
  if (std::isnan(x))
    return kNan;
  const uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::abs(x);
  if (std::isinf(x))
    return sign | (satfinite ? kLargest : kInfinity);
  const int exponent = magnitude == 0 ? -126 : std::max(std::ilogb(magnitude), -126);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, 7 - exponent)), exponent - 7);
  if (rounded > value_of_bf16(kLargest))
    return sign | (satfinite ? kLargest : kInfinity);
  return sign | std::bit_cast<uint32_t>(static_cast<float>(rounded)) >> 16;
}

} // namespace lemma::vgpu

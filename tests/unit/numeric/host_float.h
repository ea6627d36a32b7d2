// The host's IEEE arithmetic as a second opinion: bits to float and double, and a rounding mode held for a
// scope. For tests only.
#pragma once

#include "numeric/format.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace lemma::numeric {

inline float as_float(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}
inline double as_double(uint64_t bits) {
  return std::bit_cast<double>(bits);
}
inline uint64_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline uint64_t bits_of(double value) {
  return std::bit_cast<uint64_t>(value);
}

class HostRounding {
public:
  explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
    std::fesetround(rounding == Rounding::rz   ? FE_TOWARDZERO
                    : rounding == Rounding::rm ? FE_DOWNWARD
                    : rounding == Rounding::rp ? FE_UPWARD
                                               : FE_TONEAREST);
  }
  ~HostRounding() { std::fesetround(before_); }
  HostRounding(const HostRounding&) = delete;

private:
  int before_;
};

// `operation` under the rounding mode, with the compiler kept from moving it.
template <class T, class Operation>
uint64_t host_bits(Rounding rounding, uint64_t a, uint64_t b, uint64_t c, Operation operation) {
  const HostRounding scope(rounding);
  const auto load = [](uint64_t bits) {
    if constexpr (sizeof(T) == 4)
      return as_float(bits);
    else
      return as_double(bits);
  };
  volatile T x = load(a), y = load(b), z = load(c);
  volatile T result = operation(x, y, z);
  return bits_of(static_cast<T>(result));
}

} // namespace lemma::numeric

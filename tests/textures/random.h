// Random numbers that follow from a name, and floats made of them, the same on every host: no function of
// libm whose last bit is the library's to choose.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace textures {

class Random {
public:
  Random(std::string_view name, uint64_t seed) : state_(seed) {
    for (const char c : name)
      state_ = mix(state_ ^ static_cast<unsigned char>(c));
  }

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    return mix(state_);
  }
  uint32_t bits() { return static_cast<uint32_t>(next() >> 32); }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<uint32_t>(high - low + 1)));
  }
  // In [0, 1), in steps of 2^-40.
  double unit() { return std::ldexp(static_cast<double>(next() >> 24), -40); }

  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

private:
  uint64_t state_;
};

inline float float_of(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}
// A sign, an exponent in [low, high], any mantissa.
inline float random_float(Random& random, int low, int high) {
  const uint32_t exponent = static_cast<uint32_t>(random.between(low, high) + 127);
  return float_of((random.bits() & 0x807fffff) | exponent << 23);
}

} // namespace textures

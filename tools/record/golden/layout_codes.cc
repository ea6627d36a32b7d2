// Codes of places. See layout_codes.h.
#include "golden/layout_codes.h"

#include <algorithm>
#include <bit>

namespace lemma::golden {
namespace {

using isa::Type;

// Of a floating-point type as registers hold it; 0 mantissa bits: an integer.
struct Float {
  int mantissa_bits = 0;
  int bias = 0;
  int exact_bits = 0; // of its significand, tf32's being shorter than its place
};

Float float_of(Type type) {
  switch (type) {
  case Type::f64:
    return {52, 1023, 53};
  case Type::f32:
    return {23, 127, 24};
  case Type::tf32:
    return {23, 127, 11};
  case Type::f16:
    return {10, 15, 11};
  case Type::bf16:
    return {7, 127, 8};
  case Type::e4m3:
    return {3, 7, 4};
  case Type::e5m2:
    return {2, 15, 3};
  default:
    return {};
  }
}

} // namespace

int digit_bits(Type type) {
  constexpr int kEnough = 16;
  const Float f = float_of(type);
  if (f.mantissa_bits != 0)
    return std::min(f.exact_bits, kEnough);
  const int bits = isa::bits_of(type);
  return bits == 1 ? 1 : std::min(bits - 1, kEnough); // a sign
}

int digits_of(Type type, uint64_t count) {
  return (std::bit_width(count) + digit_bits(type) - 1) / digit_bits(type);
}

uint64_t place_digit(Type type, uint64_t place, int digit) {
  const int bits = digit_bits(type);
  return number_bits(type, ((place + 1) >> (digit * bits)) & ((uint64_t{1} << bits) - 1));
}

uint64_t number_bits(Type type, uint64_t value) {
  const Float f = float_of(type);
  if (f.mantissa_bits == 0 || value == 0)
    return value;
  const int exponent = static_cast<int>(std::bit_width(value)) - 1;
  const uint64_t mantissa = (value << (f.mantissa_bits - exponent)) & ((uint64_t{1} << f.mantissa_bits) - 1);
  return static_cast<uint64_t>(exponent + f.bias) << f.mantissa_bits | mantissa;
}

void PlaneUnit::set(uint64_t place, uint64_t bits) {
  const auto size = static_cast<uint64_t>(element_bits_);
  if (size >= 8) {
    std::memcpy(&bytes_[place * size / 8], &bits, size / 8);
    return;
  }
  const uint64_t shift = place * size % 8;
  uint8_t& byte = bytes_[place * size / 8];
  const uint64_t mask = (1u << size) - 1;
  byte = static_cast<uint8_t>((byte & ~(mask << shift)) | (bits & mask) << shift);
}

void PlaneUnit::write(Inputs& inputs, size_t plane, uint64_t unit) const {
  for (uint64_t i = 0; i < per_unit_; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes_[i * element_bytes_], element_bytes_);
    inputs.set(plane, unit * per_unit_ + i, bits);
  }
}

} // namespace lemma::golden

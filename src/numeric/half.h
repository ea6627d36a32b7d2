// f16 and bf16 to f32 and back, to nearest, by the host's own arithmetic and without a branch: for loops over
// many elements. A sum, difference or product of two halves may be computed in f32 and rounded from there,
// for 24 bits are at least 2 * 11 + 2; what else is rounded in f32 first is not.
//
// Not here: other roundings, other formats (convert.h); the host's vector instructions for it
// (vgpu/handlers/arithmetic/half_bits.inc). The host's unit is to keep subnormals
// (vgpu/handlers/arithmetic/host_mode.h). Every function becomes part of who calls it, so that each is
// compiled for the instructions that its caller is.
//
// Tests: tests/unit/vgpu/half_test.cc, atomic_test.cc.
#pragma once

#include <cstdint>

namespace lemma::numeric {

[[gnu::always_inline]] inline uint32_t float_bits(float a) {
  return __builtin_bit_cast(uint32_t, a);
}
[[gnu::always_inline]] inline float float_of(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

[[gnu::always_inline]] inline float widen_f16(uint16_t a) {
  const uint32_t sign = uint32_t(a & 0x8000) << 16, magnitude = a & 0x7fff;
  // The exponent field is 112 too small; the product is exact, subnormals included.
  const uint32_t number = float_bits(float_of(magnitude << 13) * 0x1p112f);
  const uint32_t special = magnitude << 13 | 0x7f800000;
  return float_of(sign | (magnitude >= 0x7c00 ? special : number));
}
// Ties to even. NaN: 0x7fff.
[[gnu::always_inline]] inline uint16_t narrow_f16(float a) {
  const uint32_t bits = float_bits(a), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  // Below the normal range the sum with 0.5 drops what is below 2^-24.
  const uint32_t subnormal = float_bits(float_of(magnitude) + 0.5f) - float_bits(0.5f);
  const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const uint32_t number = sign | (magnitude >= 0x47800000 ? 0x7c00 : finite);
  return uint16_t(magnitude > 0x7f800000 ? 0x7fff : number);
}
[[gnu::always_inline]] inline float widen_bf16(uint16_t a) {
  return float_of(uint32_t(a) << 16);
}
[[gnu::always_inline]] inline uint16_t narrow_bf16(float a) {
  const uint32_t bits = float_bits(a);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return uint16_t(a == a ? rounded : 0x7fff);
}

} // namespace lemma::numeric

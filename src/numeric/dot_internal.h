// What the files of dot() share: one function a family of schemes. Not for other folders.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include "numeric/dot.h"

#include <cstring>

namespace lemma::numeric::internal {

// DotScheme::fused and split_quad (dot_fused.cc).
void dot_fused(const DotModel& model, const DotTile& tile);
// DotScheme::block_sums (dot_fused.cc).
void dot_block_sums(const DotModel& model, const DotTile& tile);

constexpr int element_bytes(FloatFormat format) {
  const int bits = traits(format).storage_bits;
  return bits <= 8 ? 1 : bits / 8;
}

inline uint64_t load_element(const void* array, size_t index, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const uint8_t*>(array) + index * bytes, bytes);
  return bits;
}

inline void store_element(void* array, size_t index, int bytes, uint64_t bits) {
  std::memcpy(static_cast<uint8_t*>(array) + index * bytes, &bits, bytes);
}

} // namespace lemma::numeric::internal

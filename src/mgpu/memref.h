// A ranked memref descriptor as MLIR lowers it: {allocated, aligned, offset, sizes[rank], strides[rank]}, all
// of 64 bits; offset and strides in elements.
#pragma once

#include <cstdint>
#include <span>

namespace lemma::mgpu {

struct MemRef {
  std::byte* aligned = nullptr;
  int64_t offset = 0;
  std::span<const int64_t> sizes, strides;

  // `descriptor` is not null, `rank` not negative.
  static MemRef of(int64_t rank, const void* descriptor) {
    const auto* words = static_cast<const int64_t*>(descriptor);
    const auto n = static_cast<size_t>(rank);
    return {reinterpret_cast<std::byte*>(words[1]), words[2], {words + 3, n}, {words + 3 + n, n}};
  }
};

} // namespace lemma::mgpu

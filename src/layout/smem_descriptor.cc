// Matrix descriptors of wgmma. See smem_descriptor.h.
#include "layout/smem_descriptor.h"

namespace lemma::layout {
namespace {

constexpr uint64_t kFieldMask = (1u << 14) - 1;
constexpr Swizzle kModes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};

uint32_t field(uint64_t bits, int at) {
  return static_cast<uint32_t>(bits >> at & kFieldMask) * kChunkBytes;
}

} // namespace

SmemDescriptor SmemDescriptor::decode(uint64_t bits) {
  return {.start = field(bits, 0),
          .leading = field(bits, 16),
          .stride = field(bits, 32),
          .base_offset = static_cast<uint32_t>(bits >> 49 & 7),
          .swizzle = kModes[bits >> 62]};
}

uint64_t SmemDescriptor::encode() const {
  uint64_t mode = 0;
  while (kModes[mode] != swizzle)
    ++mode;
  const auto put = [](uint32_t bytes, int at) { return (uint64_t{bytes} / kChunkBytes & kFieldMask) << at; };
  return put(start, 0) | put(leading, 16) | put(stride, 32) | uint64_t{base_offset} << 49 | mode << 62;
}

} // namespace lemma::layout

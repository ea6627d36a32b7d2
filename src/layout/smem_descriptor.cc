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

uint32_t SmemDescriptor::place(uint32_t offset) const {
  return swizzle_address(start + offset, swizzle) & kDescriptorAddressMask;
}

uint32_t SmemDescriptor::k_major_chunk(uint32_t mn, uint32_t chunk) const {
  const uint32_t step = swizzle == Swizzle::none ? leading : kChunkBytes;
  return place(mn % 8 * line_bytes(swizzle) + mn / 8 * stride + chunk * step);
}

uint32_t SmemDescriptor::mn_major_chunk(uint32_t chunk, uint32_t k) const {
  if (swizzle == Swizzle::none)
    return place(k % 8 * kChunkBytes + k / 8 * leading + chunk * stride);
  const uint32_t line = line_bytes(swizzle), in_line = line / kChunkBytes;
  return place(k % 8 * line + k / 8 * stride + chunk % in_line * kChunkBytes + chunk / in_line * leading);
}

} // namespace lemma::layout

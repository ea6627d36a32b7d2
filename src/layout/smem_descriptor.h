// The 64-bit descriptor by which wgmma finds a matrix in shared memory, and where its elements lie.
//
//   bits 13..0   start address / 16
//   bits 29..16  leading dimension byte offset / 16
//   bits 45..32  stride dimension byte offset / 16
//   bits 51..49  base offset
//   bits 63..62  swizzle: 0 none, 1 128B, 2 64B, 3 32B
//
// A matrix is MN x K: M x K of A, N x K of B, where K takes 32 bytes, or 64 of the B of a sparse product. Its
// unit is a chunk of 16 bytes along the major dimension. With `line` the bytes of a swizzle line and T the
// elements of a chunk, chunks lie at
//
//   major  swizzle  chunk (row r of MN, chunk c of K)
//   K      none     r % 8 * 16 + r / 8 * stride + c * leading
//   K      others   r % 8 * line + r / 8 * stride + c % (line / 16) * 16 + c / (line / 16) * leading
//
//   major  swizzle  chunk (chunk c of MN, row k of K)
//   MN     none     k % 8 * 16 + k / 8 * leading + c * stride
//   MN     others   k % 8 * line + k / 8 * stride + c % (line / 16) * 16 + c / (line / 16) * leading
//
// from the start address, and the swizzle is applied to the sum. An H200 agrees with random offsets, start
// addresses and base offsets, multiples of a line or not. Sums do not wrap at 2^18: an H200 faults there, as
// wherever else a matrix leaves the CTA's shared memory.
//
// PTX ISA: "Shared Memory Matrix Layout", "Matrix Descriptor Format". Tests:
// tests/unit/layout/smem_descriptor_test.cc; recorded hardware bits: tests/golden, group wgmma.
#pragma once

#include "layout/swizzle.h"

#include <cstdint>

namespace lemma::layout {

struct SmemDescriptor {
  uint32_t start = 0;   // bytes; a multiple of 16 below 2^18
  uint32_t leading = 0; // bytes
  uint32_t stride = 0;  // bytes
  uint32_t base_offset = 0;
  Swizzle swizzle = Swizzle::none;

  static SmemDescriptor decode(uint64_t bits);
  uint64_t encode() const;

  // Address of a chunk of a K-major matrix: row `mn`, 16-byte chunk `chunk` along K.
  uint32_t k_major_chunk(uint32_t mn, uint32_t chunk) const {
    const uint32_t line = line_bytes(swizzle), in_line = line / kChunkBytes;
    return place(mn % 8 * line + mn / 8 * stride + chunk % in_line * kChunkBytes + chunk / in_line * leading);
  }
  // Address of a chunk of an MN-major matrix of 16-bit elements: chunk `chunk` of 8 elements along MN, row
  // `k`.
  uint32_t mn_major_chunk(uint32_t chunk, uint32_t k) const {
    if (swizzle == Swizzle::none)
      return place(k % 8 * kChunkBytes + k / 8 * leading + chunk * stride);
    const uint32_t line = line_bytes(swizzle), in_line = line / kChunkBytes;
    return place(k % 8 * line + k / 8 * stride + chunk % in_line * kChunkBytes + chunk / in_line * leading);
  }

private:
  uint32_t place(uint32_t offset) const { return swizzle_address(start + offset, swizzle, base_offset); }
};

} // namespace lemma::layout

// The 64-bit descriptor by which tcgen05.mma and tcgen05.cp find a matrix in shared memory.
//
//   bits 13..0   start address / 16
//   bits 15..14  0
//   bits 29..16  leading dimension byte offset / 16, or the address / 16 where bit 52 is set
//   bits 31..30  0
//   bits 45..32  stride dimension byte offset / 16
//   bits 48..46  version: 0b001 (0b000 is a descriptor of wgmma)
//   bits 51..49  base offset
//   bit  52      leading dimension: 0 a byte offset, 1 an absolute address, for K of 48 bytes alone
//   bits 60..53  0
//   bits 63..61  swizzle: 0 none, 1 128B with 32-byte atoms, 2 128B, 4 64B, 6 32B
//
// Chunks of 16 bytes lie where wgmma has them (the tables of smem_descriptor.h agree with CUTLASS's canonical
// layouts of sm_100), and of 128B with 32-byte atoms, which only MN-major tf32 has:
//
//   major  swizzle        chunk (chunk c of MN, row k of K)
//   MN     32-byte atoms  k % 4 * 128 + k / 4 * stride + c % 8 * 16 + c / 8 * leading
//
// Rows of 48 bytes have three chunks. Where the leading dimension is an address, a row's chunks lie in a line
// of 128 bytes from the start address to the line's end, and go on at the leading address, which has lines of
// its own, row by row the same distance apart.
//
// Not here: whether the matrix is in the CTA's shared memory; what
// the bytes of a chunk are (of 4 and 6 bits, some are padding).
//
// No hardware of ours has checked it. PTX ISA: "Shared memory descriptor", "Canonical Layouts", "Transpose
// and Negate operations". Tests: tests/unit/layout/tensor_smem_descriptor_test.cc.
#pragma once

#include "layout/descriptor_field.h"
#include "layout/smem_descriptor.h"

#include <optional>
#include <vector>

namespace lemma::layout {

// `invalid`: of codes 3, 5 and 7.
enum class SmemSwizzle : uint8_t { none, b128_32b_atoms, b128, b64, b32, invalid };
std::string_view to_string(SmemSwizzle swizzle);

struct TensorSmemDescriptor {
  uint64_t bits = 0;    // all of them, for the rules of what is reserved
  uint32_t start = 0;   // bytes; a multiple of 16 below 2^18
  uint32_t leading = 0; // bytes
  uint32_t stride = 0;  // bytes
  uint8_t version = 1;
  uint8_t base_offset = 0;
  bool leading_is_address = false;
  SmemSwizzle swizzle = SmemSwizzle::none;

  static TensorSmemDescriptor decode(uint64_t bits);
  // Of the fields, without `bits`. The swizzle must be valid.
  uint64_t encode() const;

  // The one of wgmma with the same chunks; none for a swizzle that wgmma does not have, and for an absolute
  // leading dimension.
  std::optional<SmemDescriptor> as_wgmma() const;

  // Address of a chunk of an MN-major matrix with 128B swizzle of 32-byte atoms: chunk `chunk` of MN, row
  // `k`.
  uint32_t mn_major_chunk_of_32b_atoms(uint32_t chunk, uint32_t k) const {
    const uint32_t offset = k % 4 * 128 + k / 4 * stride + chunk % 8 * kChunkBytes + chunk / 8 * leading;
    return swizzle_address_of_32b_atoms(start + offset, base_offset);
  }

  // Address of a chunk of a K-major matrix whose leading dimension is an address: row `mn`, chunk `chunk`
  // along K.
  uint32_t k_major_chunk_of_two_lines(uint32_t mn, uint32_t chunk) const {
    constexpr uint32_t kLine = 128;
    const uint32_t row = mn % 8 * kLine + mn / 8 * stride, along = start % kLine + chunk * kChunkBytes;
    return swizzle_address((along < kLine ? start - start % kLine + along : leading + along - kLine) + row,
                           Swizzle::b128);
  }
};

// What the instruction takes the descriptor for.
struct TensorSmemUse {
  std::string_view operand = "s-desc"; // a-desc, b-desc, s-desc, for the words
  uint32_t k_bytes = 32;               // K of a chunk of the product: 48 where K is 96
  bool mn_major = false;               // the transpose bit of the operand
  bool tf32 = false;                   // .kind::tf32
};

// The first rule that the descriptor breaks: the field, its bits, its value, and what is legal there. None:
// it breaks none.
std::optional<std::string> wrong(const TensorSmemDescriptor& descriptor, const TensorSmemUse& use);

// Every field in the order of the bits, those that must be 0 too.
std::vector<DescriptorField> explain(const TensorSmemDescriptor& descriptor);

} // namespace lemma::layout

// Swizzles of shared memory: which 16-byte chunk of its line a datum goes to, so that a column of chunks
// falls into different banks. TMA writes with them, wgmma reads with them.
//
//   mode   lines of    address bits  xored with
//   b32     32 bytes   4             7
//   b64     64 bytes   4, 5          7, 8
//   b128   128 bytes   4, 5, 6       7, 8, 9
//
// The bits are those of the shared-memory address itself, not of an offset in a tile.
//
// tcgen05 has a mode more, 128 bytes with atoms of 32: bits 5 and 6 are xored with 7 and 8, so that two
// chunks stay together. Tensor maps of sm_100 have it too, the same with the halves of each chunk flipped in
// every other row, and atoms of 64 bytes. These are no Swizzle, as neither wgmma nor a tensor map of sm_90
// has them.
//
// PTX ISA: "Swizzling Modes", "Shared Memory Matrix Layout". Tests:
// tests/unit/layout/smem_descriptor_test.cc, tensor_smem_descriptor_test.cc, swizzle_atoms_test.cc.
#pragma once

#include <cstdint>

namespace lemma::layout {

inline constexpr uint32_t kChunkBytes = 16;

enum class Swizzle : uint8_t { none, b32, b64, b128 };

// Bytes of a line: 16, 32, 64, 128.
constexpr uint32_t line_bytes(Swizzle swizzle) {
  return 16u << static_cast<int>(swizzle);
}

// `base_offset`: of a matrix descriptor, for patterns that do not begin at a multiple of their size. It is
// subtracted from the bits 7 and up that are xored (measured on an H200).
constexpr uint32_t swizzle_address(uint32_t address, Swizzle swizzle, uint32_t base_offset = 0) {
  const uint32_t chunks = line_bytes(swizzle) / 16 - 1; // mask of the chunk's number within its line
  return address ^ ((((address >> 7) - base_offset) & chunks) << 4);
}

// Of 128-byte lines with atoms of 32 bytes. CUTLASS's Swizzle<2, 5, 2>; nothing says what a base offset does
// here: it is taken to do the same as above.
constexpr uint32_t swizzle_address_of_32b_atoms(uint32_t address, uint32_t base_offset = 0) {
  return address ^ ((((address >> 7) - base_offset) & 3) << 5);
}

// ... where the 8 bytes of a chunk's halves change places in every other line. That it is the lines with bit
// 7 of the address set is assumed.
constexpr uint32_t swizzle_address_of_flipped_atoms(uint32_t address) {
  return swizzle_address_of_32b_atoms(address) ^ ((address >> 7 & 1) << 3);
}

// Of 128-byte lines with atoms of 64 bytes. That bit 7 alone decides is assumed: a line has two.
constexpr uint32_t swizzle_address_of_64b_atoms(uint32_t address) {
  return address ^ ((address >> 7 & 1) << 6);
}

} // namespace lemma::layout

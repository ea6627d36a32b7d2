// Where the metadata of a sparse A lies in tensor memory: which columns of K the stored elements of A have.
//
// A chunk of a row has four bits (sparse.h says what they mean): chunks of two columns of tf32, of eight of
// mxf4 and mxf4nvf4, whose elements lie two in a byte, and of four of all others. Row r counts within the
// CTA; "the lane of row" is that in which the row of D begins (tensor_memory.h), and each block of D's
// columns has a copy of the metadata in its own lanes. Columns count from the address of the metadata.
//
//   kinds         chunks of a row   lane of row                        column     bits, from
//   f16, tf32     8                 r / 16 * 16 + c / 4 * 8 + r % 8    selector   r / 8 % 2 * 16 + c % 4 * 4
//   all others    16                r                                  c / 8      c % 8 * 4
//
// The sparsity selector of f16 and tf32 picks one of two columns; of which the address is even. What the
// values 2 and 3 pick, which the PTX ISA allows too, is not known here.
//
// No hardware of ours has checked it. The PTX ISA has figures alone; CUTLASS's fragments of metadata agree
// where M is 128 or 256 and with .ws, JAX's, which run on a B200, for f16 and 8 bits with M = 128. M = 64
// without .ws, and 128 of a pair, are assumed to differ by the lanes of D alone.
//
// PTX ISA: "Sparsity selector", "Sparse Matrices". Tests: tests/unit/layout/tensor_metadata_test.cc.
#pragma once

#include <cstdint>

namespace lemma::layout {

// A chunk's bits: from bit `bit` on of a cell.
struct MetadataPlace {
  uint32_t lane_of_row = 0; // the row, of the CTA, in whose lane it lies
  uint32_t column = 0;
  uint32_t bit = 0;
  friend constexpr auto operator<=>(const MetadataPlace&, const MetadataPlace&) = default;
};

// Elements of f16 and tf32 take 16 or 32 bits, others 8 or, of mxf4 and mxf4nvf4, 4.
constexpr bool has_metadata_selector(uint32_t element_bits) {
  return element_bits >= 16;
}

// Columns that the metadata of an A takes from its address, or from the one that is selected.
constexpr uint32_t metadata_columns(uint32_t element_bits) {
  return has_metadata_selector(element_bits) ? 1 : 2;
}

constexpr MetadataPlace metadata_place(uint32_t element_bits, uint32_t row, uint32_t chunk,
                                       uint32_t selector = 0) {
  if (!has_metadata_selector(element_bits))
    return {row, chunk / 8, chunk % 8 * 4};
  return {row / 16 * 16 + chunk / 4 * 8 + row % 8, selector, row / 8 % 2 * 16 + chunk % 4 * 4};
}

} // namespace lemma::layout

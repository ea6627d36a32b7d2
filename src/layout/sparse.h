// Structured sparse A: which of K's columns are stored, and who holds the metadata that says so.
//
// Half of A's columns are stored, packed to m x k/2 and spread over the lanes as a dense A of that size. The
// metadata has four bits for each chunk of a row, two indices of two bits, the first in the low bits:
//
//     16 and 8 bits   2:4   chunk of 4 columns, 2 stored; an index is the column in the chunk of one element
//     4 bits          4:8   chunk of 8 columns, 4 stored; an index is the pair of columns of two elements
//     32 bits         1:2   chunk of 2 columns, 1 stored; both indices together: 0b0100 the first column,
//                           0b1110 the second, as of the two halves of the element
//
// A group of four lanes holds the metadata of rows g and g + 8. Where that is one or two registers, the
// sparsity selector says which lane, or which two, have it; the others' registers are not looked at.
//
// Not here: what the values may be for which spelling (the virtual GPU's faults), the arithmetic.
//
// PTX ISA: "Sparse matrix storage", "Matrix fragments for multiply-accumulate operation with sparse matrix
// A", and the same of wgmma.mma_async.sp. Tests: tests/unit/layout/sparse_test.cc.
#pragma once

#include "layout/fragment.h"

namespace lemma::layout {

inline constexpr int kMetadataBits = 4; // of a chunk

struct SparseChunk {
  int columns = 0; // of A as the product sees it
  int stored = 0;  // elements
};

constexpr SparseChunk sparse_chunk(int element_bits) {
  if (element_bits == 32)
    return {2, 1};
  return element_bits == 4 ? SparseChunk{8, 4} : SparseChunk{4, 2};
}

inline constexpr uint32_t kFirstColumn = 0b0100, kSecondColumn = 0b1110; // the metadata of 1:2

// The metadata whose two indices are the same: bit v for the value v.
constexpr uint16_t same_indices(const SparseChunk& chunk) {
  constexpr uint16_t kSame = 1 << 0b0000 | 1 << 0b0101 | 1 << 0b1010 | 1 << 0b1111;
  return chunk.stored == 1 ? 0 : kSame;
}

// The column in the chunk of one of its stored elements, whatever the chunk's metadata is.
constexpr int stored_column(const SparseChunk& chunk, uint32_t metadata, int element) {
  if (chunk.stored == 1)
    return metadata == kSecondColumn;
  const int of_index = chunk.stored / 2; // elements
  const auto index = static_cast<int>(metadata >> 2 * (element / of_index) & 3);
  return index * of_index + element % of_index;
}

// Who holds which chunk's metadata: a matrix of `m` rows and a column a chunk, elements of four bits, one
// register a lane. Copies are the values of the selector: those lanes hold it with selector 0, and with
// selector s the ones metadata_lanes() * s after them. m is 16, or 64 over the threads of a warpgroup.
constexpr Fragment metadata_fragment(int m, int k, int element_bits) {
  const int chunks = k / sparse_chunk(element_bits).columns;
  Fragment f{.rows = m, .cols = chunks, .element_bits = kMetadataBits, .register_bits = 32};
  if (element_bits >= 16) { // a register has four chunks of row g, then of row g + 8
    f.lane = {Mode{chunks / 4, {0, 4}}, Mode{16 / chunks, {}}, Mode{8, {1, 0}}, Mode{m / 16, {16, 0}}};
    f.elem = {Mode{4, {0, 1}}, Mode{2, {8, 0}}};
  } else { // a register has eight chunks of one row
    f.lane = {Mode{2, {8, 0}}, Mode{2, {0, chunks == 16 ? 8 : 0}}, Mode{8, {1, 0}}, Mode{m / 16, {16, 0}}};
    f.elem = {Mode{8, {0, 1}}};
  }
  return f;
}

// Values that the sparsity selector may have: 1, 2 or 4.
constexpr int selectors(const Fragment& metadata) {
  return metadata.copies();
}

// Lanes of a group of four that hold metadata.
constexpr int metadata_lanes(const Fragment& metadata) {
  return 4 / metadata.copies();
}

} // namespace lemma::layout

// Which columns of B the stored elements of a sparse A meet, from recorded registers of metadata: stated here
// once more, so that the tests of the models need no virtual GPU. No elements of four bits.
//
// PTX ISA: "Sparse matrix storage". Tests: model_test.cc, wgmma_model_test.cc.
#pragma once

#include "layout/sparse.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace lemma::golden {

// For every stored element of A, row by row. `registers`: one of metadata a lane, those of a whole fragment.
inline std::vector<uint8_t> sparse_columns(const layout::Fragment& metadata, int element_bits, int selector,
                                           const std::byte* registers) {
  const layout::SparseChunk chunk = layout::sparse_chunk(element_bits);
  const int lanes = layout::metadata_lanes(metadata); // of a group of four, the first ones with selector 0
  std::vector<uint8_t> columns(static_cast<size_t>(metadata.rows * metadata.cols * chunk.stored));
  for (int lane = 0; lane < metadata.lanes(); ++lane) {
    if (lane % 4 >= lanes)
      continue;
    uint32_t word;
    std::memcpy(&word, registers + static_cast<size_t>(lane + selector * lanes) * 4, 4);
    for (int elem = 0; elem < metadata.elems_per_register(); ++elem) {
      const layout::Coord at = metadata.at({lane, 0, elem});
      const uint32_t bits = word >> (4 * elem) & 15, first = static_cast<uint32_t>(at.col * chunk.columns);
      uint8_t* out = &columns[static_cast<size_t>((at.row * metadata.cols + at.col) * chunk.stored)];
      if (chunk.stored == 1) {
        out[0] = static_cast<uint8_t>(first + (bits == 0b1110));
      } else {
        out[0] = static_cast<uint8_t>(first + (bits & 3));
        out[1] = static_cast<uint8_t>(first + (bits >> 2));
      }
    }
  }
  return columns;
}

} // namespace lemma::golden

// What one tcgen05.cp moves, as data: rows of 16 or 32 bytes from shared memory, by a descriptor of it, to
// the lanes of tensor memory that its shape and multicast say (layout/tensor_memory.h).
//
// Rows lie in shared memory as those of a K-major matrix do. Elements of 4 and 6 bits that are unpacked
// become the low bits of a byte, the others are zero: assumed, as ldmatrix does.
//
// PTX ISA: "tcgen05.cp". Tests: tests/unit/vgpu/tensor_scale_test.cc.
#pragma once

#include "layout/tensor_memory.h"
#include "vgpu/async/tensor_mma.h"

namespace lemma::vgpu {

struct TensorCp {
  TensorCtas ctas; // each copies from its own shared memory to its own tensor memory
  TensorShared from;
  layout::CopyShape shape{};
  layout::CopyMulticast multicast{};
  layout::TensorCell to;
  uint32_t packed_bits = 8; // of an element in shared memory: 4, 6, or 8 where nothing is unpacked

  uint32_t row_chunks() const { return layout::copy_columns(shape) * 4 / layout::kChunkBytes; }
  // The address of one of the chunks, row after row.
  uint32_t chunk(uint32_t index) const {
    return from.chunks.k_major_chunk(index / row_chunks(), index % row_chunks());
  }
};

// Does it write one of the CTA's columns [column, column + count)?
bool accesses(const TensorCp& cp, const Cta& cta, uint32_t column, uint32_t count);

// Calls visit(cta, column, lanes) for the cells that it writes.
void each_cell_written(const TensorCp& cp, const TensorVisit& visit);

// Calls visit(place, bytes) for the chunks of shared memory that it reads.
void each_source(const TensorCp& cp, const AsyncOperation::Visit& visit);

// Moves them, as shared memory is now.
void execute(const TensorCp& cp);

} // namespace lemma::vgpu

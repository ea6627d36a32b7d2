// What one tcgen05.mma computes, as data: where A, B and D are, and the product by which D comes of them.
//
// A is in shared memory or in tensor memory, B in shared memory, rows of K by their descriptors; D and what
// it is added to are cells of tensor memory. Shared memory is read through the async proxy, when the
// operation runs.
//
// The scale factors of a block-scaled product are in tensor memory: those of row r of A, or of column r of B,
// in lane r % 32 of a quarter, r / 32 columns behind their address, in the bytes that the descriptor's id
// names. Every quarter has them all: rows of A take those of the quarter that their lane in D is of, columns
// of B those of the first. The PTX ISA leaves undefined what happens where quarters differ.
//
// Not here: what is checked when it is issued (handlers/tensor/tensor_mma.cc), when it runs (async.h).
//
// PTX ISA: "tcgen05.mma". Tests: tests/unit/vgpu/tensor_mma_test.cc, tensor_scale_test.cc.
#pragma once

#include "layout/tensor_instruction_descriptor.h"
#include "layout/tensor_memory.h"
#include "layout/tensor_smem_descriptor.h"
#include "numeric/dot.h"
#include "vgpu/engine/exec.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lemma::vgpu {

// K of a dense row takes so many bytes as it is stored.
inline constexpr uint32_t kTensorRowBytes = 32;
inline constexpr uint32_t kTensorRowChunks = kTensorRowBytes / layout::kChunkBytes;

// What all products of one instruction descriptor have in common.
struct TensorProduct {
  layout::TensorInstructionDescriptor descriptor;
  numeric::DotPlan dot;
  uint32_t element_bytes = 2;           // of A and B, as dot() takes them
  uint32_t row_bytes = kTensorRowBytes; // of their rows, as dot() takes them
  uint32_t scales = 0;                  // of a row; 0: it is not block scaled
  uint32_t d_bytes = 4;                 // of an element
  uint32_t negate_a = 0, negate_b = 0;  // sign bits to flip, in each byte
  // Where D's element (row, column) is: lanes are added, columns count from D's address.
  std::vector<uint8_t> row_lanes;
  TensorMemory::Lanes row_quarters{}; // the same lanes, a word for each quarter
  std::vector<layout::TensorCell> columns;
  uint32_t d_columns = 0; // that D takes
  uint64_t flops = 0;
};

// The product of a descriptor in which nothing is wrong, with so many scale factors a row; none where the
// machine has no such.
std::optional<TensorProduct> make_tensor_product(const layout::TensorInstructionDescriptor& descriptor,
                                                 layout::DataPath path, uint32_t scales,
                                                 numeric::Arch machine);

// A matrix in shared memory.
struct TensorShared {
  layout::TensorSmemDescriptor descriptor;
  layout::SmemDescriptor chunks; // the same, but for a swizzle of 32-byte atoms
  bool mn_major = false;

  // The address of one of the chunks of `rows` rows; they are rows * kTensorRowChunks.
  uint32_t chunk(uint32_t index, uint32_t element_bytes) const;
};

// 16 elements of so many bits, the first bytes of a chunk, become its 16 bytes.
void unpack_chunk(std::byte* chunk, uint32_t bits);

struct TensorMma {
  const TensorProduct* product = nullptr; // of the instruction's plan
  Cta* cta = nullptr;
  std::optional<TensorShared> a; // none: in tensor memory
  TensorShared b;
  uint32_t a_scales = 0, b_scales = 0; // columns where they begin
  layout::TensorCell a_cell, d_cell;   // addresses: of D the lane is that of row 0
  bool accumulates = false;
  int scale_d = 0;                // D is multiplied by 2^-scale_d before
  TensorMemory::Lanes disabled{}; // lanes of D that stay
};

// Columns that the scale factors of so many rows take.
constexpr uint32_t scale_columns(uint32_t rows) {
  return (rows + kWarpSize - 1) / kWarpSize;
}

// The lanes of D in one of its columns.
TensorMemory::Lanes lanes_of_d(const TensorMma& mma, layout::TensorCell column);

// Calls visit(cta, column, lanes) for the cells of tensor memory that it reads, or writes. D of one that
// accumulates is read and written, and comes as written alone.
using TensorVisit = std::function<void(const Cta&, uint32_t column, const TensorMemory::Lanes& lanes)>;
void each_cell_read(const TensorMma& mma, const TensorVisit& visit);
void each_cell_written(const TensorMma& mma, const TensorVisit& visit);

// Does it access one of the CTA's columns [column, column + count)?
bool accesses(const TensorMma& mma, const Cta& cta, uint32_t column, uint32_t count);

// Calls visit(place, bytes) for the chunks of shared memory that it reads.
void each_source(const TensorMma& mma, const AsyncOperation::Visit& visit);

// Computes it, on memory as it is now. Returns how many outputs took which way.
MatrixOutputs execute(const TensorMma& mma, numeric::DotScratch& scratch);

} // namespace lemma::vgpu

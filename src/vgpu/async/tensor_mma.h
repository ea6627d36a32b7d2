// What one tcgen05.mma computes, as data: where A, B and D are, and the product by which D comes of them.
//
// A is in shared memory or in tensor memory, B in shared memory, rows of K by their descriptors; D and what
// it is added to are cells of tensor memory. Shared memory is read through the async proxy, when the
// operation runs.
//
// Of `.cta_group::2` two CTAs have a half of everything: of A and D the first or the second half of the rows,
// of B of the columns, at the same addresses of their own shared and tensor memory. Each multiplies its rows
// with both halves of B.
//
// D may be cut into blocks of columns that lie in lanes below each other (layout/tensor_memory.h); each block
// takes A in tensor memory and the scale factors from its own lanes, of which each has a copy. The scale
// factors of a block-scaled product are in tensor memory: those of row r of the CTA's A, or of column r of
// the block's B, in lane r % 32 of a quarter, r / 32 columns behind their address, in the bytes that the
// descriptor's id names. Rows of A take those of the quarter that their lane in D is of, columns of B those
// of the block's first quarter. The PTX ISA leaves undefined what happens where copies differ.
//
// .ashift takes A in tensor memory a row further down: row r of the product has row r - 1 of the CTA's A, and
// row 0 keeps its own. The PTX ISA does not say what that is: assumed, as tcgen05.shift moves rows
// (tensor_shift.h).
//
// A sparse A has half of its elements, and metadata in tensor memory (layout/tensor_metadata.h) that says
// which columns of K they have.
//
// Several on the same D, one after the other, are one product that is so much deeper, with the same bits.
//
// Not here: what is checked when it is issued (handlers/tensor/tensor_mma.cc), when it runs (async.h), which
// wait for the next to be multiplied with it (handlers/tensor/tensor_chain.h).
//
// PTX ISA: "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp". Tests:
// tests/unit/vgpu/tensor_mma_test.cc, tensor_scale_test.cc, tensor_pair_test.cc, tensor_ws_test.cc,
// tensor_sparse_test.cc, tensor_shift_test.cc, tensor_k96_test.cc.
#pragma once

#include "layout/tensor_column_mask.h"
#include "layout/tensor_instruction_descriptor.h"
#include "layout/tensor_memory.h"
#include "layout/tensor_smem_descriptor.h"
#include "numeric/dot.h"
#include "vgpu/engine/exec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lemma::vgpu {

// A row of A is stored in so many chunks, of K = 96 in three; one of B in twice as many where A is sparse.
inline constexpr uint32_t kTensorRowChunks = 2;

// The CTAs that an operation works in: the issuer's alone, or the pair, the even one first.
class TensorCtas {
public:
  TensorCtas() = default;
  explicit TensorCtas(Cta* even, Cta* odd = nullptr) : ctas_{even, odd} {}

  Cta* const* begin() const { return ctas_.data(); }
  Cta* const* end() const { return ctas_.data() + (ctas_[1] ? 2 : ctas_[0] ? 1 : 0); }
  bool is_empty() const { return ctas_[0] == nullptr; }
  bool contains(const Cta& cta) const { return std::find(begin(), end(), &cta) != end(); }
  friend bool operator==(const TensorCtas&, const TensorCtas&) = default;

private:
  std::array<Cta*, 2> ctas_{};
};

// What all products of one instruction descriptor have in common.
struct TensorProduct {
  layout::TensorInstructionDescriptor descriptor;
  layout::DataPath path{};
  // Of the rows of one CTA and one block of columns: of one operation, of two that are one product, and so
  // on.
  std::vector<numeric::DotPlan> dots;
  // Where lane r has row r of D, of 128: the same transposed, B with A, whose rows are columns of tensor
  // memory. None: D's tile is gathered, and put back.
  std::vector<numeric::DotPlan> transposed;
  uint32_t element_bytes = 2;                // of A and B, as dot() takes them
  uint32_t a_row_bytes = 0, b_row_bytes = 0; // of their rows, as dot() takes them
  uint32_t a_chunks = 0, b_chunks = 0;       // of their rows, as shared memory has them
  uint32_t metadata_bits = 0;          // of a sparse A: of an element, as metadata counts it; 0: A is dense
  uint32_t scales = 0;                 // of a row; 0: it is not block scaled
  uint32_t d_bytes = 4;                // of an element
  uint32_t negate_a = 0, negate_b = 0; // sign bits to flip, in each byte
  uint32_t cta_columns = 0;            // of B, in the shared memory of one CTA
  uint32_t block_columns = 0;          // of D, in one block
  // Where D's element (row of the CTA, column) is: lanes are added, columns count from D's address.
  std::vector<uint8_t> row_lanes;
  TensorLanes row_quarters{}; // the same lanes
  std::vector<layout::TensorCell> columns;
  uint32_t d_columns = 0; // that D takes
  uint64_t flops = 0;

  size_t longest_chain() const { return dots.size(); }
  uint32_t cta_rows() const { return static_cast<uint32_t>(row_lanes.size()); }
  uint32_t blocks() const { return static_cast<uint32_t>(columns.size()) / block_columns; }
  // Lanes from the first block to this one.
  uint32_t block_lane(uint32_t block) const { return columns[size_t{block} * block_columns].lane; }
};

// The product of a descriptor in which nothing is wrong, with so many scale factors a row; none where the
// machine has no such.
std::optional<TensorProduct> make_tensor_product(const layout::TensorInstructionDescriptor& descriptor,
                                                 layout::DataPath path, uint32_t scales,
                                                 numeric::Arch machine);

// A matrix in shared memory, of which an operation reads some rows.
struct TensorShared {
  layout::TensorSmemDescriptor descriptor = {};
  layout::SmemDescriptor chunks = {}; // the same, but for what wgmma does not have (as_wgmma())
  bool mn_major = false;
  uint32_t first = 0, rows = 0; // that are read
  uint32_t row_chunks = kTensorRowChunks;
  uint32_t element_bytes = 2; // as it is stored, of 4 and 6 bits with their padding

  uint32_t elements_of_chunk() const { return layout::kChunkBytes / element_bytes; }
  uint32_t depth() const { return row_chunks * elements_of_chunk(); } // K
  // The chunks that have something of its rows, by their indices: row after row or, of one that is MN-major,
  // chunk of rows after chunk of rows.
  uint32_t first_chunk() const {
    return mn_major ? first / elements_of_chunk() * depth() : first * row_chunks;
  }
  uint32_t end_chunk() const {
    return mn_major ? (first + rows + elements_of_chunk() - 1) / elements_of_chunk() * depth()
                    : (first + rows) * row_chunks;
  }
  // The address of a chunk.
  uint32_t chunk(uint32_t index) const;
};

// 16 elements of so many bits, the first bytes of a chunk, become its 16 bytes.
void unpack_chunk(std::byte* chunk, uint32_t bits);

struct TensorMma {
  const TensorProduct* product = nullptr; // of the instruction's plan
  TensorCtas ctas;
  std::optional<TensorShared> a; // none: in tensor memory
  bool shifts_a = false;         // .ashift
  TensorShared b;
  uint32_t a_scales = 0, b_scales = 0; // columns where they begin
  layout::TensorCell a_cell, d_cell;   // addresses: of D the lane is that of row 0
  layout::TensorCell metadata_cell;    // of a sparse A: the address, the selected column
  layout::TensorColumnMask mask;       // of .ws: which columns of B are zeros
  bool accumulates = false;
  int scale_d = 0;                       // D is multiplied by 2^-scale_d before
  std::array<TensorLanes, 2> disabled{}; // by CTA: lanes of D that stay
};

// Chunks of the metadata of a sparse A, a row.
uint32_t metadata_chunks(const TensorProduct& product);
// The cell and bits of one of them, in the lanes of a block.
struct TensorMetadata {
  layout::TensorCell cell; // of tensor memory
  uint32_t bit = 0;
};
TensorMetadata metadata_of(const TensorMma& mma, uint32_t block, uint32_t row, uint32_t chunk);

// Columns of A in tensor memory.
constexpr uint32_t a_columns(const TensorProduct& product) {
  return product.a_chunks * layout::kChunkBytes / 4;
}
// How the scale factors of A's rows, or of B's columns of a block, lie behind their address: four bytes of
// row r in column r / 32, and of K = 96, which has as many as six, the next four `stride` columns further on
// (layout::columns_to_more_scales()).
struct TensorScales {
  uint32_t rows = 0;
  uint32_t id = 0; // the byte of the first
  uint32_t stride = 0;
  uint32_t words = 1; // of a row

  uint32_t columns() const { return (words - 1) * stride + (rows + kWarpSize - 1) / kWarpSize; }
};
TensorScales a_scales_of(const TensorProduct& product);
TensorScales b_scales_of(const TensorProduct& product);

// The lanes of D in one of its columns, of each CTA.
TensorLanes lanes_of_d(const TensorMma& mma, layout::TensorCell column);

// Calls visit(cta, column, lanes) for the cells of tensor memory that it reads, or writes. D of one that
// accumulates is read and written, and comes as written alone.
using TensorVisit = std::function<void(const Cta&, uint32_t column, const TensorLanes& lanes)>;
void each_cell_read(const TensorMma& mma, const TensorVisit& visit);
void each_cell_written(const TensorMma& mma, const TensorVisit& visit);

// Does it access one of the CTA's columns [column, column + count)?
bool accesses(const TensorMma& mma, const Cta& cta, uint32_t column, uint32_t count);

// Calls visit(place, bytes) for the chunks of shared memory that it reads.
void each_source(const TensorMma& mma, const AsyncOperation::Visit& visit);

// D's cells count as written, but for lanes that stay: with execute().
void mark_written(const TensorMma& mma);

// Is `next`, which comes right after `mma`, one product with it?
bool continues(const TensorMma& mma, const TensorMma& next);

// Computes one, or some that are one product, on memory as it is now. Returns how many outputs took which
// way.
MatrixOutputs execute(std::span<const TensorMma> chain, numeric::DotScratch& scratch);

} // namespace lemma::vgpu

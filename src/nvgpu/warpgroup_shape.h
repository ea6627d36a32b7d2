// What an nvgpu.warpgroup.mma is made of: its M, N and K, the instruction that it repeats, and how its
// multiplicands lie in shared memory. The verifier asks here and so does the lowering.
//
// A tile in shared memory is what tensor copies with its tensor map have put there: boxes one after the
// other, each a number of rows of one swizzle line (16 bytes without a swizzle), and when the tile is wider
// than a line, the next box goes on where the rows of the one before end:
//
//   row 0     | box 0: line | box 1: line | ...      K-major:   rows are M (of B: N), columns K
//   row 1     |             |             |          MN-major:  rows are K, columns M (of B: N)
//   ...
//
// The matrix descriptor of such a tile holds the bytes of a box as its leading dimension byte offset and
// those of eight rows as its stride dimension byte offset, whichever way the tile is read. Only MN-major
// without a swizzle means the two the other way round: warpgroup.mma, which knows the order, exchanges them.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions", "Matrix Descriptor Format".
// Tests: tests/mlir/dialect, tests/mlir/matrix.
#pragma once

#include "isa/catalogue.h"
#include "layout/smem_descriptor.h"
#include "nvgpu/matrix_type.h"

namespace lemma::nvgpu {

inline constexpr int64_t kWarpgroupThreads = 128;

// A tile of shared memory.
struct TileLayout {
  layout::Swizzle swizzle = layout::Swizzle::none;
  int64_t box_rows = 0;

  int64_t line_bytes() const { return layout::line_bytes(swizzle); }
  int64_t box_bytes() const { return box_rows * line_bytes(); }
  // Where byte `column` of row `row` lies, from the tile's begin and before the swizzle.
  int64_t offset(int64_t row, int64_t column) const {
    return column / line_bytes() * box_bytes() + row * line_bytes() + column % line_bytes();
  }
  // The descriptor without its start address. `mn_major`: how the tile is read.
  layout::SmemDescriptor descriptor(bool mn_major) const;
};

// Of a tensor map's boxes; an error when no matrix descriptor can say where their rows are.
mlir::FailureOr<TileLayout> tile_layout_of(TensorMapDescriptorType map, const ErrorSink& error);

// D = A * B + C of one operation, M x N x K.
struct WarpgroupProduct {
  int64_t m = 0, n = 0, k = 0;
  const isa::MatrixRow* row = nullptr;
  Instruction instruction; // of 64 rows and row->shape.k of K
  size_t form_index = 0;   // by which Instruction::find finds it
  bool a_in_registers = false;

  int64_t blocks() const { return m / row->shape.m; }
  int64_t steps() const { return k / row->shape.k; }
};
mlir::FailureOr<WarpgroupProduct> product_of(WarpgroupMmaOp op, const ErrorSink& error);

// A multiplicand in shared memory.
struct SharedMatrix {
  TileLayout tile;
  bool mn_major = false;
  unsigned element_bits = 0;

  // Where element (`mn`, `k`) lies, from the tile's begin and before the swizzle. Both are multiples of the
  // instruction's.
  int64_t offset(int64_t mn, int64_t k) const {
    return mn_major ? tile.offset(k, mn * element_bits / 8) : tile.offset(mn, k * element_bits / 8);
  }
};
enum class Multiplicand : uint8_t { a, b };
// An error when the swizzle is not known where the operation is, or the boxes do not hold the tile.
mlir::FailureOr<SharedMatrix> shared_matrix_of(WarpgroupMmaOp op, const WarpgroupProduct& product,
                                               Multiplicand which, const ErrorSink& error);
// Whether it is known where the operation is: from the descriptor's type, or from the operation that makes
// it.
bool knows_swizzle(mlir::Value descriptor);

// The most groups of products that may be pending after the operation.
int64_t pending_groups(WarpgroupMmaOp op);
int64_t pending_groups(WarpgroupMmaWaitOp op);
// Whether products may still be added to it. One from elsewhere, such as a loop's, may be such.
bool may_be_pending(mlir::Value accumulator);

// An accumulator is M x N, M a multiple of 64, of f32, f16 or i32.
mlir::LogicalResult check_accumulator(WarpgroupAccumulatorType type, const ErrorSink& error);

} // namespace lemma::nvgpu

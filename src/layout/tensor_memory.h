// Tensor memory: which of its cells a register of tcgen05.ld and tcgen05.st, an element of the D of
// tcgen05.mma, and a row that tcgen05.cp copies belong to.
//
// An SM has 128 lanes of 512 columns; a cell, one column of one lane, has 32 bits. An address names a cell:
//
//   bits 31..16  lane
//   bits 15..0   column
//
// A warp reaches the 32 lanes of its quarter, which begin at lane 32 * (warp % 4). In the table t is the
// thread, r the register, N the count in the qualifier .xN. Lanes count from the quarter's first; shapes of
// 16 lanes count from the quarter's lane 16 where the address names that. Columns count from the address's.
//
//   shape      registers  lane                    column
//   .32x32b    N          t                       r
//   .16x64b    N          t / 4 + 8 * (t % 2)     t / 2 % 2 + 2 * r
//   .16x128b   2 * N      t / 4 + 8 * (r % 2)     t % 4 + 4 * (r / 2)
//   .16x256b   4 * N      t / 4 + 8 * (r / 2 % 2) r % 2 + 2 * (t % 4) + 8 * (r / 4)
//   .16x32bx2  N          t % 16                  r, and immHalfSplitoff more for threads 16 to 31
//
// With .pack::16b and .unpack::16b a register has the low halves of two neighbouring columns, that of the
// lower column in its own low half. Where it would have column c, it has columns 2 * c and 2 * c + 1, so the
// access covers twice the columns. immHalfSplitoff is not doubled. (The ISA says that the columns are
// adjacent; CUTLASS's copy atoms say which they are, and what the offset is.)
//
// D lies in one of seven data paths. h is the lane of D's address divided by 16, 0 or 1. Under .cta_group::2
// m and n are those of both CTAs together: CTA 0 has the first m / 2 rows, CTA 1 the others, each with all
// columns. "row" in the table counts within the CTA.
//
//   path  m    of which mma            lane                               column
//   a     256  .cta_group::2           row                                column
//   b     128  .cta_group::2, dense    row + 64 * (column / (n / 2))      column % (n / 2)
//   c     128  .cta_group::2, sparse   row / 16 * 32 + 16 * h + row % 16  column
//   d     128  .cta_group::1, .ws too  row                                column
//   e     64   .ws                     row + 64 * (column / (n / 2))      column % (n / 2)
//   f     64   .cta_group::1           row / 16 * 32 + 16 * h + row % 16  column
//   g     32   .ws                     row + 32 * (column / (n / 4))      column % (n / 4)
//
// An element of D takes a cell of its own, one of 16 bits the low half of it.
//
// b, e and g have blocks of columns below each other, two or four of them. What belongs to rows - A in tensor
// memory, scale factors of A - has a copy in the lanes of each block: row r of A lies in the lanes where row
// r of D begins in that block.
//
// Scale factors of row r of A, counted within the CTA, lie in column r / 32, and in lane r % 32 of each of
// the four quarters. Those of column c of B lie likewise where D has no blocks; of b, c counts within the
// block, and they lie in the two quarters that the block's lanes are of.
//
// Not here: who allocated which columns, what is in the cells, metadata of a sparse A.
//
// No hardware of ours has checked it. TVM's layouts, which a B200 has, agree for all shapes but .16x32bx2,
// for d and f; CUTLASS's for all shapes and all paths but c, for A and for scale factors.
//
// PTX ISA: "Tensor Memory Addressing", "Data Movement Shape", "Data Path Layout Organization", "tcgen05.cp".
// Tests: tests/unit/layout/tensor_memory_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lemma::layout {

inline constexpr uint32_t kTensorLanes = 128;
inline constexpr uint32_t kTensorColumns = 512;
inline constexpr uint32_t kWarpLanes = 32; // that a warp reaches
// Of the lane in an address of scale factors: CUTLASS has their id in bits 30 and 31, too, which the
// instruction descriptor has it from.
inline constexpr uint32_t kScaleLaneMask = 0x3fff;

struct TensorCell {
  uint32_t lane = 0, column = 0;
  friend constexpr auto operator<=>(const TensorCell&, const TensorCell&) = default;
};

// Any 32 bits are an address; of which most name no cell.
struct TensorAddress {
  uint32_t lane = 0, column = 0;

  static constexpr TensorAddress decode(uint32_t bits) { return {bits >> 16, bits & 0xffff}; }
  constexpr uint32_t encode() const { return lane << 16 | (column & 0xffff); }
  constexpr bool names_cell() const { return lane < kTensorLanes && column < kTensorColumns; }
};

// --- tcgen05.ld, tcgen05.st
// ---------------------------------------------------------------------------------

enum class TensorShape : uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };

// Of the spelling of the qualifier, ".32x32b"; none where it is no shape of tcgen05.ld.
std::optional<TensorShape> tensor_shape(std::string_view qualifier);
std::string_view to_string(TensorShape shape);

// `num` of .xN: a power of two, as many as 128 registers allow.
constexpr uint32_t registers_of(TensorShape shape, uint32_t num) {
  return num * (shape == TensorShape::s16x128b ? 2 : shape == TensorShape::s16x256b ? 4 : 1);
}

// Lanes that a warp's access covers, 32 or 16.
constexpr uint32_t lanes_of(TensorShape shape) {
  return shape == TensorShape::s32x32b ? 32 : 16;
}

// Columns that an access covers from its address on; of .16x32bx2, each of its two halves.
constexpr uint32_t columns_of(TensorShape shape, uint32_t num, bool packed = false) {
  return (packed ? 2 : 1) * registers_of(shape, num) * kWarpLanes / lanes_of(shape) /
         (shape == TensorShape::s16x32bx2 ? 2 : 1);
}

// The cell of register `reg` of `thread`, 0 to 31. `half_split_offset` is immHalfSplitoff of .16x32bx2.
constexpr TensorCell cell_of(TensorShape shape, uint32_t thread, uint32_t reg,
                             uint32_t half_split_offset = 0) {
  const uint32_t t = thread, r = reg;
  switch (shape) {
  case TensorShape::s32x32b:
    return {t, r};
  case TensorShape::s16x64b:
    return {t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * r};
  case TensorShape::s16x128b:
    return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
  case TensorShape::s16x256b:
    return {t / 4 + 8 * (r / 2 % 2), r % 2 + 2 * (t % 4) + 8 * (r / 4)};
  case TensorShape::s16x32bx2:
    return {t % 16, r + t / 16 * half_split_offset};
  }
  return {};
}

// The two cells whose low halves the register has with .pack::16b or .unpack::16b: first that of its low
// half.
constexpr std::array<TensorCell, 2> packed_cells_of(TensorShape shape, uint32_t thread, uint32_t reg,
                                                    uint32_t half_split_offset = 0) {
  TensorCell low = cell_of(shape, thread, reg);
  low.column *= 2;
  if (shape == TensorShape::s16x32bx2)
    low.column += thread / 16 * half_split_offset;
  return {low, {low.lane, low.column + 1}};
}

// --- D of tcgen05.mma
// ---------------------------------------------------------------------------------------

enum class DataPath : uint8_t { a, b, c, d, e, f, g };

// `m` and `cta_group` of the instruction; none where no instruction has these together.
std::optional<DataPath> data_path(uint32_t m, uint32_t cta_group, bool ws, bool sparse);

// CTAs that D is in.
constexpr uint32_t ctas_of(DataPath path) {
  return path <= DataPath::c ? 2 : 1;
}

// Blocks of columns that lie below each other, and the lanes from one of them to the next.
constexpr uint32_t column_blocks_of(DataPath path) {
  return path == DataPath::b || path == DataPath::e ? 2 : path == DataPath::g ? 4 : 1;
}
constexpr uint32_t block_lanes_of(DataPath path) {
  return kTensorLanes / column_blocks_of(path);
}

// Columns that D takes.
constexpr uint32_t accumulator_columns(DataPath path, uint32_t n) {
  return n / column_blocks_of(path);
}

struct AccumulatorCell {
  uint32_t cta = 0; // of the pair; 0 where there is none
  TensorCell cell;  // the lane is that of the tensor memory, columns count from D's address
  friend constexpr auto operator<=>(const AccumulatorCell&, const AccumulatorCell&) = default;
};

// The cell of element (row, column) of D, m x n. `half` is h of the drawing, of data paths c and f alone.
AccumulatorCell accumulator_cell(DataPath path, uint32_t m, uint32_t n, uint32_t row, uint32_t column,
                                 uint32_t half = 0);

// --- tcgen05.cp
// ---------------------------------------------------------------------------------------------

enum class CopyShape : uint8_t { s128x256b, s4x256b, s128x128b, s64x128b, s32x128b };
enum class CopyMulticast : uint8_t { none, warpx2_02_13, warpx2_01_23, warpx4 };

std::optional<CopyShape> copy_shape(std::string_view qualifier);         // ".128x256b"
std::optional<CopyMulticast> copy_multicast(std::string_view qualifier); // ".warpx2::02_13"

// Rows of the source, and columns that a row takes: 16 or 32 bytes of tensor memory. What .b6x16_p32 and
// .b4x16_p64 unpack takes as much there as it took in shared memory.
uint32_t copy_rows(CopyShape shape);
uint32_t copy_columns(CopyShape shape);

// Lanes that one row is written to.
struct CopyLanes {
  std::array<uint8_t, 4> lanes{};
  uint8_t count = 0;
  const uint8_t* begin() const { return lanes.data(); }
  const uint8_t* end() const { return lanes.data() + count; }
};

// Lanes count from that of the address. None for shapes and multicasts that do not go together: 64x128b goes
// with the two of .warpx2, 32x128b with .warpx4, the others with none.
CopyLanes copy_lanes(CopyShape shape, CopyMulticast multicast, uint32_t row);

} // namespace lemma::layout

// Tensor memory: accesses of tcgen05.ld and tcgen05.st stated a second time as strides over the bits of a
// warp's access, the data paths of D as what a lane holds, and each cell had once.
#include "layout/tensor_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lemma::layout {
namespace {

constexpr TensorShape kShapes[] = {TensorShape::s32x32b, TensorShape::s16x64b, TensorShape::s16x128b,
                                   TensorShape::s16x256b, TensorShape::s16x32bx2};

uint32_t max_num(TensorShape shape) {
  return 128 / registers_of(shape, 1);
}

// An index taken apart by extents, the first the fastest, each part times its stride.
struct Strided {
  uint32_t extent, stride;
};
uint32_t apply(const std::vector<Strided>& modes, uint32_t index) {
  uint32_t sum = 0;
  for (const Strided& mode : modes) {
    sum += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
  return sum;
}

// The 32-bit words of an access in the order lane by lane, of .xN: where the word of thread and register is.
// Lanes have `width` words each.
struct Access {
  uint32_t width;
  std::vector<Strided> thread, reg;
};
Access access(TensorShape shape, uint32_t num) {
  switch (shape) {
  case TensorShape::s32x32b:
    return {num, {{32, num}}, {{num, 1}}};
  case TensorShape::s16x64b:
    return {2 * num, {{2, 16 * num}, {2, 1}, {8, 2 * num}}, {{num, 2}}};
  case TensorShape::s16x128b:
    return {4 * num, {{4, 1}, {8, 4 * num}}, {{2, 32 * num}, {num, 4}}};
  case TensorShape::s16x256b:
    return {8 * num, {{4, 2}, {8, 8 * num}}, {{2, 1}, {2, 64 * num}, {num, 8}}};
  case TensorShape::s16x32bx2:
    return {2 * num, {{16, 2 * num}, {2, num}}, {{num, 1}}}; // the halves side by side
  }
  return {};
}

TEST(TensorAddress, LaneAndColumn) {
  const TensorAddress address = TensorAddress::decode(0x00300123);
  EXPECT_EQ(address.lane, 0x30u);
  EXPECT_EQ(address.column, 0x123u);
  EXPECT_EQ(address.encode(), 0x00300123u);
  EXPECT_TRUE(address.names_cell());
  EXPECT_TRUE(TensorAddress::decode(0x007f01ff).names_cell());
  EXPECT_FALSE(TensorAddress::decode(0x00800000).names_cell());
  EXPECT_FALSE(TensorAddress::decode(0x00000200).names_cell());
  for (const uint32_t bits : {0u, 0xffffffffu, 0x80000001u, 0x0010fff0u})
    EXPECT_EQ(TensorAddress::decode(bits).encode(), bits);
}

TEST(TensorShape, Spellings) {
  EXPECT_EQ(tensor_shape(".32x32b"), TensorShape::s32x32b);
  EXPECT_EQ(tensor_shape(".16x64b"), TensorShape::s16x64b);
  EXPECT_EQ(tensor_shape(".16x128b"), TensorShape::s16x128b);
  EXPECT_EQ(tensor_shape(".16x256b"), TensorShape::s16x256b);
  EXPECT_EQ(tensor_shape(".16x32bx2"), TensorShape::s16x32bx2);
  for (const TensorShape shape : kShapes)
    EXPECT_EQ(tensor_shape(to_string(shape)), shape);
  for (const char* none : {"", "32x32b", ".16x32b", ".128x128b", ".16x64bx2"})
    EXPECT_EQ(tensor_shape(none), std::nullopt) << none;
}

TEST(TensorShape, RegistersAndColumns) {
  struct Row {
    TensorShape shape;
    uint32_t num, registers, columns;
  };
  const Row rows[] = {{TensorShape::s32x32b, 128, 128, 128},  {TensorShape::s16x64b, 1, 1, 2},
                      {TensorShape::s16x64b, 128, 128, 256},  {TensorShape::s16x128b, 64, 128, 256},
                      {TensorShape::s16x256b, 1, 4, 8},       {TensorShape::s16x256b, 32, 128, 256},
                      {TensorShape::s16x32bx2, 128, 128, 128}};
  for (const Row& row : rows) {
    EXPECT_EQ(registers_of(row.shape, row.num), row.registers) << to_string(row.shape);
    EXPECT_EQ(columns_of(row.shape, row.num), row.columns) << to_string(row.shape);
    EXPECT_EQ(columns_of(row.shape, row.num, true), 2 * row.columns) << to_string(row.shape);
  }
}

TEST(TensorShape, RegistersAreWhereTheStridesSay) {
  for (const TensorShape shape : kShapes)
    for (uint32_t num = 1; num <= max_num(shape); num *= 2) {
      const Access want = access(shape, num);
      for (uint32_t thread = 0; thread < 32; ++thread)
        for (uint32_t reg = 0; reg < registers_of(shape, num); ++reg) {
          const uint32_t word = apply(want.thread, thread) + apply(want.reg, reg);
          const TensorCell cell = cell_of(shape, thread, reg, num);
          ASSERT_EQ(cell.lane, word / want.width) << to_string(shape) << " " << thread << " " << reg;
          ASSERT_EQ(cell.column, word % want.width) << to_string(shape) << " " << thread << " " << reg;
        }
    }
}

// The first registers of some threads, as the ISA's figures of the fragments draw them.
TEST(TensorShape, CornersOfTheFigures) {
  EXPECT_EQ(cell_of(TensorShape::s32x32b, 31, 2), (TensorCell{31, 2}));
  EXPECT_EQ(cell_of(TensorShape::s16x64b, 1, 0), (TensorCell{8, 0}));
  EXPECT_EQ(cell_of(TensorShape::s16x64b, 2, 0), (TensorCell{0, 1}));
  EXPECT_EQ(cell_of(TensorShape::s16x64b, 4, 1), (TensorCell{1, 2}));
  EXPECT_EQ(cell_of(TensorShape::s16x128b, 3, 0), (TensorCell{0, 3}));
  EXPECT_EQ(cell_of(TensorShape::s16x128b, 4, 1), (TensorCell{9, 0}));
  EXPECT_EQ(cell_of(TensorShape::s16x128b, 0, 2), (TensorCell{0, 4}));
  EXPECT_EQ(cell_of(TensorShape::s16x256b, 1, 1), (TensorCell{0, 3}));
  EXPECT_EQ(cell_of(TensorShape::s16x256b, 31, 2), (TensorCell{15, 6}));
  EXPECT_EQ(cell_of(TensorShape::s16x256b, 0, 4), (TensorCell{0, 8}));
  EXPECT_EQ(cell_of(TensorShape::s16x32bx2, 15, 3, 100), (TensorCell{15, 3}));
  EXPECT_EQ(cell_of(TensorShape::s16x32bx2, 16, 3, 100), (TensorCell{0, 103}));
}

TEST(TensorShape, EveryCellHasOneRegister) {
  for (const TensorShape shape : kShapes)
    for (uint32_t num = 1; num <= max_num(shape); num *= 2) {
      const uint32_t columns = columns_of(shape, num);
      std::set<TensorCell> cells, packed;
      for (uint32_t thread = 0; thread < 32; ++thread)
        for (uint32_t reg = 0; reg < registers_of(shape, num); ++reg) {
          cells.insert(cell_of(shape, thread, reg, columns));
          for (const TensorCell cell : packed_cells_of(shape, thread, reg, 2 * columns))
            packed.insert(cell);
        }
      const uint32_t width = columns * (shape == TensorShape::s16x32bx2 ? 2 : 1);
      const TensorCell last{lanes_of(shape) - 1, width - 1};
      EXPECT_EQ(cells.size(), lanes_of(shape) * width) << to_string(shape) << num;
      EXPECT_EQ(*cells.rbegin(), last) << to_string(shape) << num;
      EXPECT_EQ(packed.size(), 2 * cells.size()) << to_string(shape) << num;
      EXPECT_EQ(*packed.rbegin(), (TensorCell{last.lane, 2 * width - 1})) << to_string(shape) << num;
    }
}

// As if each lane's columns were taken as their low halves alone, end to end, and read as words.
TEST(TensorShape, PackedRegistersAreWordsOfLowHalves) {
  for (const TensorShape shape : kShapes) {
    const Access want = access(shape, 4);
    for (uint32_t thread = 0; thread < 32; ++thread)
      for (uint32_t reg = 0; reg < registers_of(shape, 4); ++reg) {
        const uint32_t word = apply(want.thread, thread) + apply(want.reg, reg);
        const auto cells = packed_cells_of(shape, thread, reg, 8);
        for (uint32_t half = 0; half < 2; ++half) {
          const uint32_t halfword = 2 * word + half;
          EXPECT_EQ(cells[half].lane, halfword / (2 * want.width))
              << to_string(shape) << thread << " " << reg;
          EXPECT_EQ(cells[half].column, halfword % (2 * want.width))
              << to_string(shape) << thread << " " << reg;
        }
      }
  }
  EXPECT_EQ(packed_cells_of(TensorShape::s16x32bx2, 16, 0, 7)[1], (TensorCell{0, 8}));
}

TEST(DataPath, OfTheInstruction) {
  EXPECT_EQ(data_path(256, 2, false, false), DataPath::a);
  EXPECT_EQ(data_path(256, 2, false, true), DataPath::a);
  EXPECT_EQ(data_path(128, 2, false, false), DataPath::b);
  EXPECT_EQ(data_path(128, 2, false, true), DataPath::c);
  for (const bool sparse : {false, true}) {
    EXPECT_EQ(data_path(128, 1, false, sparse), DataPath::d);
    EXPECT_EQ(data_path(128, 1, true, sparse), DataPath::d);
    EXPECT_EQ(data_path(64, 1, true, sparse), DataPath::e);
    EXPECT_EQ(data_path(64, 1, false, sparse), DataPath::f);
    EXPECT_EQ(data_path(32, 1, true, sparse), DataPath::g);
    EXPECT_EQ(data_path(32, 1, false, sparse), std::nullopt);
    EXPECT_EQ(data_path(64, 2, false, sparse), std::nullopt);
    EXPECT_EQ(data_path(128, 2, true, sparse), std::nullopt);
    EXPECT_EQ(data_path(256, 1, false, sparse), std::nullopt);
    EXPECT_EQ(data_path(96, 1, false, sparse), std::nullopt);
    EXPECT_EQ(data_path(128, 3, false, sparse), std::nullopt);
  }
}

// What each warp's lanes hold, as the ISA's figures of the data paths draw it: of both CTAs, the row of their
// first lane and the columns from there on.
struct Quarter {
  uint32_t row, column;
};
struct Drawn {
  DataPath path;
  uint32_t m, n;
  uint32_t lanes;             // of 32, from the first or, with half 1, from the 16th
  uint32_t columns;           // that the quarter has
  std::vector<Quarter> warps; // of CTA 0, then of CTA 1
};
const Drawn kDrawn[] = {
    {DataPath::a,
     256,
     64,
     32,
     64,
     {{0, 0}, {32, 0}, {64, 0}, {96, 0}, {128, 0}, {160, 0}, {192, 0}, {224, 0}}},
    {DataPath::b,
     128,
     64,
     32,
     32,
     {{0, 0}, {32, 0}, {0, 32}, {32, 32}, {64, 0}, {96, 0}, {64, 32}, {96, 32}}},
    {DataPath::c, 128, 64, 16, 64, {{0, 0}, {16, 0}, {32, 0}, {48, 0}, {64, 0}, {80, 0}, {96, 0}, {112, 0}}},
    {DataPath::d, 128, 8, 32, 8, {{0, 0}, {32, 0}, {64, 0}, {96, 0}}},
    {DataPath::e, 64, 128, 32, 64, {{0, 0}, {32, 0}, {0, 64}, {32, 64}}},
    {DataPath::f, 64, 8, 16, 8, {{0, 0}, {16, 0}, {32, 0}, {48, 0}}},
    {DataPath::g, 32, 256, 32, 64, {{0, 0}, {0, 64}, {0, 128}, {0, 192}}},
};

TEST(DataPath, LanesHoldWhatTheFiguresDraw) {
  for (const Drawn& drawn : kDrawn)
    for (const uint32_t half : {0u, 1u}) {
      const uint32_t first = drawn.lanes == 16 ? 16 * half : 0;
      std::map<std::pair<uint32_t, uint32_t>, AccumulatorCell> want; // of row and column
      for (size_t warp = 0; warp < drawn.warps.size(); ++warp)
        for (uint32_t lane = 0; lane < drawn.lanes; ++lane)
          for (uint32_t column = 0; column < drawn.columns; ++column)
            want[{drawn.warps[warp].row + lane, drawn.warps[warp].column + column}] = {
                static_cast<uint32_t>(warp / 4),
                {static_cast<uint32_t>(warp % 4) * 32 + first + lane, column}};
      ASSERT_EQ(want.size(), drawn.m * drawn.n);
      for (const auto& [element, cell] : want)
        ASSERT_EQ(accumulator_cell(drawn.path, drawn.m, drawn.n, element.first, element.second, half), cell)
            << "path " << static_cast<int>(drawn.path) << " row " << element.first << " column "
            << element.second;
      EXPECT_EQ(accumulator_columns(drawn.path, drawn.n), drawn.columns);
    }
}

TEST(DataPath, EveryElementHasACellOfItsOwn) {
  for (const Drawn& drawn : kDrawn)
    for (const uint32_t n : {32u, 96u, 256u}) {
      std::set<AccumulatorCell> cells;
      for (uint32_t row = 0; row < drawn.m; ++row)
        for (uint32_t column = 0; column < n; ++column) {
          const AccumulatorCell cell = accumulator_cell(drawn.path, drawn.m, n, row, column, 1);
          EXPECT_LT(cell.cell.lane, kTensorLanes);
          EXPECT_LT(cell.cell.column, accumulator_columns(drawn.path, n));
          cells.insert(cell);
        }
      EXPECT_EQ(cells.size(), drawn.m * n);
    }
}

// Each block begins in the column of D's address.
TEST(DataPath, BlocksOfColumnsLieBelowEachOther) {
  for (const Drawn& drawn : kDrawn) {
    std::vector<AccumulatorCell> begins;
    for (uint32_t column = 0; column < 256; ++column)
      if (const AccumulatorCell cell = accumulator_cell(drawn.path, drawn.m, 256, 0, column);
          cell.cell.column == 0)
        begins.push_back(cell);
    ASSERT_EQ(begins.size(), column_blocks_of(drawn.path));
    for (uint32_t block = 0; block < begins.size(); ++block)
      EXPECT_EQ(begins[block].cell.lane, block * block_lanes_of(drawn.path));
    EXPECT_EQ(accumulator_cell(drawn.path, drawn.m, 256, drawn.m - 1, 0).cta + 1, ctas_of(drawn.path));
  }
}

// .16x256b of four warps reads an M = 64 accumulator in rows of 16 a warp.
TEST(DataPath, SixteenLanesAWarpAreReadByTheShapesOfSixteen) {
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (uint32_t thread = 0; thread < 32; ++thread)
      for (uint32_t reg = 0; reg < 4; ++reg) {
        const TensorCell read = cell_of(TensorShape::s16x256b, thread, reg);
        const uint32_t row = warp * 16 + read.lane;
        EXPECT_EQ(accumulator_cell(DataPath::f, 64, 8, row, read.column).cell,
                  (TensorCell{warp * 32 + read.lane, read.column}));
      }
}

TEST(TensorCopy, Spellings) {
  EXPECT_EQ(copy_shape(".128x256b"), CopyShape::s128x256b);
  EXPECT_EQ(copy_shape(".4x256b"), CopyShape::s4x256b);
  EXPECT_EQ(copy_shape(".128x128b"), CopyShape::s128x128b);
  EXPECT_EQ(copy_shape(".64x128b"), CopyShape::s64x128b);
  EXPECT_EQ(copy_shape(".32x128b"), CopyShape::s32x128b);
  EXPECT_EQ(copy_shape(".32x32b"), std::nullopt);
  EXPECT_EQ(copy_multicast(""), CopyMulticast::none);
  EXPECT_EQ(copy_multicast(".warpx2::02_13"), CopyMulticast::warpx2_02_13);
  EXPECT_EQ(copy_multicast(".warpx2::01_23"), CopyMulticast::warpx2_01_23);
  EXPECT_EQ(copy_multicast(".warpx4"), CopyMulticast::warpx4);
  EXPECT_EQ(copy_multicast(".warpx2"), std::nullopt);
}

// The rows that each lane gets, -1: none; and the bytes of a row that the shape's name gives.
TEST(TensorCopy, EachLaneGetsTheRowOfTheDrawing) {
  struct Copy {
    CopyShape shape;
    CopyMulticast multicast;
    uint32_t rows, bits;
    int (*row_of)(int lane);
  };
  const Copy copies[] = {
      {CopyShape::s128x256b, CopyMulticast::none, 128, 256, [](int lane) { return lane; }},
      {CopyShape::s128x128b, CopyMulticast::none, 128, 128, [](int lane) { return lane; }},
      {CopyShape::s4x256b, CopyMulticast::none, 4, 256, [](int lane) { return lane % 32 ? -1 : lane / 32; }},
      {CopyShape::s64x128b, CopyMulticast::warpx2_02_13, 64, 128, [](int lane) { return lane % 64; }},
      {CopyShape::s64x128b, CopyMulticast::warpx2_01_23, 64, 128,
       [](int lane) { return (lane < 64 ? 0 : 32) + lane % 32; }},
      {CopyShape::s32x128b, CopyMulticast::warpx4, 32, 128, [](int lane) { return lane % 32; }},
  };
  for (const Copy& copy : copies) {
    EXPECT_EQ(copy_rows(copy.shape), copy.rows);
    EXPECT_EQ(copy_columns(copy.shape), copy.bits / 32);
    std::vector<int> rows(kTensorLanes, -1);
    for (uint32_t row = 0; row < copy.rows; ++row)
      for (const uint8_t lane : copy_lanes(copy.shape, copy.multicast, row)) {
        EXPECT_EQ(rows.at(lane), -1) << "lane " << int{lane};
        rows.at(lane) = static_cast<int>(row);
      }
    for (int lane = 0; lane < 128; ++lane)
      EXPECT_EQ(rows[lane], copy.row_of(lane)) << "lane " << lane;
  }
}

TEST(TensorCopy, NoLanesWhereShapeAndMulticastDoNotGoTogether) {
  int together = 0;
  for (int shape = 0; shape < 5; ++shape)
    for (int multicast = 0; multicast < 4; ++multicast)
      together +=
          copy_lanes(static_cast<CopyShape>(shape), static_cast<CopyMulticast>(multicast), 0).count != 0;
  EXPECT_EQ(together, 6);
}

} // namespace
} // namespace lemma::layout

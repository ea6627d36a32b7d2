// Sparse metadata's layout, against the figures of the PTX ISA written out as (row, chunk) -> (lane, bits).
#include "layout/sparse.h"

#include <gtest/gtest.h>

namespace lemma::layout {
namespace {

struct Held {
  int row, chunk, lane, low_bit;
};

void expect_held(int k, int bits, int selector_values, std::initializer_list<Held> figure) {
  const Fragment f = metadata_fragment(16, k, bits);
  EXPECT_EQ(f.cols, k / sparse_chunk(bits).columns);
  EXPECT_EQ(selectors(f), selector_values);
  EXPECT_EQ(f.lanes(), 32);
  EXPECT_EQ(f.registers(), 1);
  for (const Held& held : figure) {
    const auto place = f.find({held.row, held.chunk});
    ASSERT_TRUE(place) << held.row << ", " << held.chunk;
    EXPECT_EQ(place->lane, held.lane) << held.row << ", " << held.chunk;
    EXPECT_EQ(place->elem * kMetadataBits, held.low_bit) << held.row << ", " << held.chunk;
  }
  for (int row = 0; row < f.rows; ++row)
    for (int chunk = 0; chunk < f.cols; ++chunk)
      EXPECT_TRUE(f.find({row, chunk})) << row << ", " << chunk;
}

TEST(Metadata, LiesWhereTheFiguresSay) {
  // One lane: bits 0 to 15 of row g, 16 to 31 of row g + 8.
  for (const auto& [k, bits] : {std::pair(16, 16), std::pair(8, 32)})
    expect_held(k, bits, 4, {{0, 0, 0, 0}, {0, 3, 0, 12}, {8, 0, 0, 16}, {15, 3, 28, 28}});
  // Two lanes: the first has the left half of the columns.
  for (const auto& [k, bits] : {std::pair(32, 16), std::pair(16, 32)})
    expect_held(k, bits, 2, {{0, 0, 0, 0}, {0, 4, 1, 0}, {8, 3, 0, 28}, {9, 7, 5, 28}});
  // Two lanes: the first has row g, the second row g + 8.
  for (const auto& [k, bits] : {std::pair(32, 8), std::pair(64, 4)})
    expect_held(k, bits, 2, {{0, 0, 0, 0}, {0, 7, 0, 28}, {8, 0, 1, 0}, {15, 7, 29, 28}});
  // Four lanes: two for each half of the columns.
  for (const auto& [k, bits] : {std::pair(64, 8), std::pair(128, 4)})
    expect_held(k, bits, 1, {{0, 0, 0, 0}, {0, 8, 2, 0}, {8, 7, 1, 28}, {8, 15, 3, 28}, {7, 8, 30, 0}});
}

TEST(Metadata, OfAWarpgroupIsThatOfItsWarps) {
  const Fragment warp = metadata_fragment(16, 32, 16), group = metadata_fragment(64, 32, 16);
  EXPECT_EQ(group.lanes(), 128);
  EXPECT_EQ(group.copies(), warp.copies());
  for (int lane = 0; lane < 128; ++lane)
    for (int elem = 0; elem < 8; ++elem) {
      const Coord in_warp = warp.at({lane % 32, 0, elem});
      EXPECT_EQ(group.at({lane, 0, elem}), (Coord{in_warp.row + lane / 32 * 16, in_warp.col}));
    }
}

} // namespace
} // namespace lemma::layout

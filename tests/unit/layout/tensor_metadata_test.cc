// Metadata of a sparse A in tensor memory, stated a second time as strides over rows and columns of A,
// counted in bits of a matrix of 128 lanes by 32 bits, lane by lane; every bit is had once.
#include "layout/tensor_metadata.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace lemma::layout {
namespace {

struct Mode {
  uint32_t extent, stride;
};
uint32_t apply(const std::vector<Mode>& modes, uint32_t index) {
  uint32_t sum = 0;
  for (const Mode& mode : modes) {
    sum += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
  return sum;
}

// Bit of (row, chunk), where a lane's bits of all columns come one after the other.
struct Strides {
  uint32_t element_bits, chunks, lane_bits;
  std::vector<Mode> row, chunk;
};
const Strides kStrides[] = {
    {16, 8, 32, {{8, 32}, {2, 16}, {8, 16 * 32}}, {{4, 4}, {2, 8 * 32}}},
    {32, 8, 32, {{8, 32}, {2, 16}, {8, 16 * 32}}, {{4, 4}, {2, 8 * 32}}},
    {8, 16, 64, {{128, 64}}, {{16, 4}}},
    {4, 16, 64, {{128, 64}}, {{16, 4}}},
};

TEST(TensorMetadata, LiesByStrides) {
  for (const Strides& s : kStrides) {
    std::set<uint32_t> seen;
    for (uint32_t row = 0; row < 128; ++row)
      for (uint32_t chunk = 0; chunk < s.chunks; ++chunk) {
        const MetadataPlace place = metadata_place(s.element_bits, row, chunk);
        const uint32_t bit = place.lane_of_row * s.lane_bits + place.column * 32 + place.bit;
        ASSERT_EQ(bit, apply(s.row, row) + apply(s.chunk, chunk))
            << s.element_bits << ": " << row << ", " << chunk;
        ASSERT_LT(place.column, metadata_columns(s.element_bits));
        seen.insert(bit);
      }
    EXPECT_EQ(seen.size(), 128 * s.chunks);
    EXPECT_EQ(*seen.rbegin(), 128 * s.lane_bits - 4);
  }
}

TEST(TensorMetadata, TheSelectorPicksTheColumn) {
  EXPECT_EQ(metadata_place(16, 25, 6, 1), (MetadataPlace{25, 1, 16 + 8}));
  EXPECT_EQ(metadata_place(8, 25, 6, 1), (MetadataPlace{25, 0, 24}));
  EXPECT_TRUE(has_metadata_selector(32));
  EXPECT_FALSE(has_metadata_selector(4));
}

} // namespace
} // namespace lemma::layout

// Zero-column masks: the examples of the PTX ISA as it writes them, the last column first, and a mask stated
// a second time as a list of spans.
#include "layout/tensor_column_mask.h"

#include <gtest/gtest.h>

#include <vector>

namespace lemma::layout {
namespace {

struct Fields {
  uint64_t start_counts[4] = {}; // of sub-mask 0 first
  uint64_t zeros_first[4] = {};
  uint64_t has_mask = 1, skip = 2, use = 3, shift = 0; // as the fields have them
};

TensorColumnMask make(const Fields& f) {
  uint64_t bits = f.has_mask << 39 | f.skip << 40 | f.use << 48 | f.shift << 56;
  for (int i = 0; i < 4; ++i)
    bits |= f.start_counts[i] << 8 * i | f.zeros_first[i] << (32 + i);
  return TensorColumnMask::decode(bits);
}

// The last columns, the last first: 1 where a column is zeros.
std::string text_of(const TensorColumnMask& mask, uint32_t block, uint32_t columns) {
  std::string text;
  for (uint32_t column = columns; column-- > 0;)
    text += mask.is_zero(block, column) ? '1' : '0';
  return text;
}

TEST(TensorColumnMask, ExamplesOfTheIsa) {
  EXPECT_EQ(text_of(make({.has_mask = 0, .skip = 4, .use = 3}), 0, 16), std::string(16, '0'));
  EXPECT_EQ(text_of(make({}), 0, 14), "11100001110000");
  const TensorColumnMask two = make({.zeros_first = {1, 0}});
  EXPECT_EQ(text_of(two, 0, 17), "11100001110000111");
  EXPECT_EQ(text_of(two, 1, 18), "000011100001110000");
  const TensorColumnMask four = make({.start_counts = {0, 1, 2, 1}, .zeros_first = {1, 1, 0, 0}, .shift = 2});
  EXPECT_EQ(text_of(four, 0, 14), "00001110000111");
  EXPECT_EQ(text_of(four, 1, 13), "0000111000011");
  EXPECT_EQ(text_of(four, 2, 12), "111000011100");
  EXPECT_EQ(text_of(four, 3, 13), "1110000111000");
  EXPECT_EQ(four.shift, 2u);
}

TEST(TensorColumnMask, SpansTakeTurns) {
  for (const uint64_t start : {0, 1, 7, 200})
    for (const uint64_t skip : {0, 5, 255})
      for (const uint64_t use : {0, 3, 254})
        for (const uint64_t zeros_first : {0, 1}) {
          std::vector<bool> columns;
          for (bool zeros = zeros_first != 0; columns.size() < start + 256; zeros = !zeros)
            columns.insert(columns.end(), (zeros ? skip : use) + 1, zeros);
          const TensorColumnMask mask = make(
              {.start_counts = {0, 0, start}, .zeros_first = {0, 0, zeros_first}, .skip = skip, .use = use});
          for (uint32_t column = 0; column < 256; ++column)
            ASSERT_EQ(mask.is_zero(2, column), columns[start + column]) << start << " " << skip << " " << use;
        }
}

TEST(TensorColumnMask, WrongFieldsAreNamed) {
  EXPECT_EQ(wrong(make({.shift = 32}), 128, 32), std::nullopt);
  EXPECT_EQ(wrong(make({.shift = 16}), 32, 32), std::nullopt);
  EXPECT_EQ(
      wrong(make({.shift = 17}), 32, 32).value_or(""),
      "zero-column-mask-desc 0x1103028000000000: column shift (bits 56-61) is 17; legal with M = 32 and a "
      "maximum shift of 32 in the instruction descriptor: 0 to 16");
  EXPECT_EQ(
      wrong(make({.shift = 9}), 64, 8).value_or(""),
      "zero-column-mask-desc 0x0903028000000000: column shift (bits 56-61) is 9; legal with M = 64 and a "
      "maximum shift of 8 in the instruction descriptor: 0 to 8");
  EXPECT_EQ(wrong(TensorColumnMask::decode(uint64_t{1} << 37), 64, 0).value_or(""),
            "zero-column-mask-desc 0x0000002000000000: reserved bits 36-38 are 0b10; legal: 0");
  EXPECT_EQ(wrong(TensorColumnMask::decode(uint64_t{1} << 63), 64, 0).value_or(""),
            "zero-column-mask-desc 0x8000000000000000: reserved bits 62-63 are 0b10; legal: 0");
}

} // namespace
} // namespace lemma::layout

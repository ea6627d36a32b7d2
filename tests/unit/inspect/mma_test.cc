// One product by the public API: sizes, conversions, whose arithmetic, what is refused.
#include "lemma/mma.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lemma {
namespace {

constexpr const char* kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
constexpr const char* kSparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";

npy::Array floats(uint64_t rows, uint64_t cols, float value) {
  npy::Array array{.dtype = "<f4", .shape = {rows, cols}, .data = std::vector<std::byte>(rows * cols * 4)};
  for (uint64_t i = 0; i < rows * cols; ++i)
    std::memcpy(array.data.data() + 4 * i, &value, 4);
  return array;
}

BitMatrix matrix(const MmaOperand& like, float value) {
  const auto bits = bits_of(floats(like.rows, like.cols, value), like.type);
  EXPECT_TRUE(bits);
  return *bits;
}

TEST(Mma, Multiplies) {
  const auto form = mma_form(kMma);
  ASSERT_TRUE(form) << form.error().text;
  EXPECT_EQ(form->arch, "sm_90");
  EXPECT_EQ(form->a.rows, 16u);
  EXPECT_EQ(form->b.cols, 8u);
  const auto d = mma(*form, {.a = matrix(form->a, 0.5f), .b = matrix(form->b, 3), .c = matrix(form->c, 1)});
  ASSERT_TRUE(d) << d.error().error.text;
  for (const uint64_t bits : d->bits)
    EXPECT_EQ(element_text(bits, form->d.type), "25");
  EXPECT_EQ(array_of(*d, form->d.type).dtype, "<f4");
  const auto without_c = mma(*form, {.a = matrix(form->a, 0.5f), .b = matrix(form->b, 3)});
  EXPECT_EQ(element_text(without_c->bits[0], "f32"), "24");
}

TEST(Mma, IsThatOfAMachine) {
  EXPECT_EQ(mma_form(kMma, "sm_80")->arch, "sm_80");
  EXPECT_EQ(mma_form(kMma, "sm_90a")->arch, "sm_90");
  const auto old = mma_form(kMma, "sm_75");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::unsupported);
  const auto none = mma_form(kMma, "sm_33");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(none.error().text.starts_with("arch sm_33: "));
  EXPECT_FALSE(mma_form("ldmatrix.sync.aligned.m8n8.x1.shared.b16")) << "it moves data";
}

TEST(Mma, ASparseAIsDenseWithZerosOrStored) {
  const auto form = mma_form(kSparse, "sm_90");
  ASSERT_TRUE(form) << form.error().text;
  ASSERT_TRUE(form->sparse);
  BitMatrix dense = matrix(form->a, 0), stored = matrix(form->stored_a, 2);
  for (uint64_t row = 0; row < dense.rows; ++row)
    for (uint64_t col = 0; col < dense.cols; ++col)
      if (col % 4 == 1 || col % 4 == 2)
        dense.at(row, col) = stored.bits[0];
  BitMatrix metadata{.rows = form->metadata.rows,
                     .cols = form->metadata.cols,
                     .bits = std::vector<uint64_t>(form->metadata.rows * form->metadata.cols, 0b1001)};
  const BitMatrix b = matrix(form->b, 1);
  const auto of_dense = mma(*form, {.a = dense, .b = b});
  const auto of_stored = mma(*form, {.a = stored, .b = b, .metadata = metadata});
  ASSERT_TRUE(of_dense && of_stored);
  EXPECT_EQ(of_dense->bits, of_stored->bits);
  EXPECT_EQ(element_text(of_dense->bits[0], "f32"), "32");

  dense.at(3, 0) = stored.bits[0];
  const auto full = mma(*form, {.a = dense, .b = b});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().operand, "a");
  EXPECT_TRUE(full.error().error.text.starts_with("row 3, columns 0 to 3: too many are not zero"));
}

TEST(Mma, ChecksItsOperands) {
  const auto form = mma_form(kMma);
  const auto wrong = mma(*form, {.a = matrix(form->b, 1), .b = matrix(form->b, 1)});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().operand, "a");
  EXPECT_EQ(wrong.error().error.text, "a is 16 x 8; the instruction wants 16 x 16");
  const auto scaled = mma(*form, {.a = matrix(form->a, 1), .b = matrix(form->b, 1), .scale_a = BitMatrix{}});
  ASSERT_FALSE(scaled);
  EXPECT_FALSE(bits_of(floats(2, 2, 1), "s8")) << "floats are no integers";
  EXPECT_FALSE(bits_of(floats(2, 2, 1), "f61"));
}

} // namespace
} // namespace lemma

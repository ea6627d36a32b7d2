// Descriptors explained: whose one is, its fields, and the rule that it breaks.
#include "lemma/descriptor.h"
#include "lemma/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma {
namespace {

// What the field of a name says; empty where there is none.
std::string meaning(const DescriptorExplanation& explained, const std::string& name) {
  const auto found = std::ranges::find_if(explained.fields,
                                          [&](const DescriptorField& field) { return field.name == name; });
  return found == explained.fields.end() ? "" : found->meaning;
}

// Bits 0 to 63, or 31, in order, each in one field.
void expect_all_bits_once(const DescriptorExplanation& explained) {
  int next = 0;
  for (const DescriptorField& field : explained.fields) {
    const size_t dash = field.bits.find('-');
    EXPECT_EQ(std::stoi(field.bits), next) << field.name;
    next = std::stoi(dash == std::string::npos ? field.bits : field.bits.substr(dash + 1)) + 1;
  }
  EXPECT_EQ(next, explained.width);
}

// "Matrix Descriptor Format" and "Shared memory descriptor": the same tile for both.
TEST(Descriptor, AMatrixIsWhoseItsVersionSays) {
  const auto wgmma = explain_descriptor({.bits = 0x4000'0040'0001'0040});
  ASSERT_TRUE(wgmma) << wgmma.error().text;
  EXPECT_EQ(wgmma->what, "matrix descriptor of wgmma");
  EXPECT_EQ(meaning(*wgmma, "start address"), "0x400");
  EXPECT_EQ(meaning(*wgmma, "leading dimension"), "16 bytes");
  EXPECT_EQ(meaning(*wgmma, "stride dimension"), "1024 bytes");
  EXPECT_EQ(meaning(*wgmma, "swizzle"), "128B");
  EXPECT_EQ(wgmma->problem, "");
  expect_all_bits_once(*wgmma);
  const auto tensor = explain_descriptor({.bits = 0x4000'4040'0001'0040});
  ASSERT_TRUE(tensor) << tensor.error().text;
  EXPECT_EQ(tensor->what, "matrix descriptor of tcgen05");
  EXPECT_EQ(meaning(*tensor, "stride dimension"), "1024 bytes");
  EXPECT_EQ(meaning(*tensor, "swizzle"), "128B");
  EXPECT_EQ(tensor->problem, "");
  expect_all_bits_once(*tensor);
}

TEST(Descriptor, OneOfTheOtherKindIsNamed) {
  const auto old = explain_descriptor({.bits = 0x4000'0040'0001'0040, .of = "tcgen05"});
  ASSERT_TRUE(old);
  EXPECT_NE(old->problem.find("version (bits 46-48) is 0b000, as in a descriptor of wgmma; legal: 0b001"),
            std::string::npos)
      << old->problem;
  const auto newer = explain_descriptor({.bits = 0x4000'4040'0001'0040, .of = "wgmma"});
  ASSERT_TRUE(newer);
  EXPECT_NE(newer->problem.find("bits 46-48 are 0b1, the version of a descriptor of tcgen05"),
            std::string::npos)
      << newer->problem;
}

TEST(Descriptor, AMatrixIsLegalForWhatItIsUsed) {
  constexpr uint64_t kAtoms = 0x2000'4040'0001'0040;
  EXPECT_NE(explain_descriptor({.bits = kAtoms, .of = "kind::f16", .mn_major = true})->problem, "");
  EXPECT_NE(explain_descriptor({.bits = kAtoms, .of = "kind::tf32"})->problem, "") << "K-major";
  const auto b = explain_descriptor(
      {.bits = kAtoms, .of = "kind::tf32", .operand = DescriptorOperand::b_desc, .mn_major = true});
  EXPECT_EQ(b->problem, "");
  EXPECT_EQ(meaning(*b, "swizzle"), "128B with 32-byte atoms");
  const auto invalid = explain_descriptor(
      {.bits = kAtoms | 0x6000'0000'0000'0000, .of = "kind::tf32", .operand = DescriptorOperand::b_desc});
  EXPECT_TRUE(invalid->problem.starts_with("b-desc 0x")) << invalid->problem;
}

TEST(Descriptor, AnInstructionIsReadByItsKind) {
  constexpr uint32_t kBits = 0x0810'0010; // M = 128, N = 64, f16 x f16 -> f32
  const auto half = explain_descriptor({.bits = kBits, .of = "kind::f16"});
  ASSERT_TRUE(half) << half.error().text;
  EXPECT_EQ(half->what, "instruction descriptor of tcgen05.mma.cta_group::1.kind::f16");
  EXPECT_EQ(half->width, 32);
  EXPECT_EQ(meaning(*half, "M"), "128");
  EXPECT_EQ(meaning(*half, "N"), "64");
  EXPECT_EQ(meaning(*half, "type of D"), "f32");
  EXPECT_EQ(half->problem, "");
  EXPECT_EQ(half->product, "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16");
  expect_all_bits_once(*half);
  const auto named = describe_matrix(half->product);
  ASSERT_TRUE(named) << named.error().text;
  EXPECT_EQ(named->instruction_descriptor, kBits);
  const auto pair = explain_descriptor(
      {.bits = kBits & ~0xff000000u | 0x04000000, .of = "tcgen05.mma.cta_group::2.kind::f16"});
  ASSERT_TRUE(pair) << pair.error().text;
  EXPECT_NE(pair->problem.find("M (bits 24-28) is 64; legal for .kind::f16 with .cta_group::2: 128, 256"),
            std::string::npos)
      << pair->problem;
  EXPECT_EQ(pair->product, "");
  const auto transposed =
      explain_descriptor({.bits = kBits | 1u << 15, .of = "kind::f16", .a_in_tensor_memory = true});
  EXPECT_NE(transposed->problem.find("A is in tensor memory"), std::string::npos) << transposed->problem;
}

// "Zero-Column Mask Descriptor": the second example.
TEST(Descriptor, AColumnMaskSaysWhichColumnsAreZeros) {
  const uint64_t bits = uint64_t{3} << 48 | uint64_t{2} << 40 | uint64_t{1} << 39 | uint64_t{1} << 32;
  const auto mask = explain_descriptor({.bits = bits, .operand = DescriptorOperand::zero_column_mask});
  ASSERT_TRUE(mask) << mask.error().text;
  expect_all_bits_once(*mask);
  EXPECT_EQ(meaning(*mask, "first span 0"), "zeros");
  EXPECT_EQ(meaning(*mask, "first span 1"), "columns that are used");
  EXPECT_EQ(meaning(*mask, "skip span"), "3 columns are zeros");
  EXPECT_EQ(meaning(*mask, "use span"), "4 columns are used");
  EXPECT_EQ(mask->problem, "");
  const auto wrong =
      explain_descriptor({.bits = bits | uint64_t{1} << 62, .operand = DescriptorOperand::zero_column_mask});
  EXPECT_NE(wrong->problem.find("reserved bits 62-63 are 0b1; legal: 0"), std::string::npos)
      << wrong->problem;
}

TEST(Descriptor, SaysWhatItNeedsToKnow) {
  EXPECT_NE(explain_descriptor({.bits = 0x08100010}).error().text.find("say of which it is"),
            std::string::npos);
  EXPECT_NE(explain_descriptor({.bits = 1, .of = "kind::f61"})
                .error()
                .text.find("legal: wgmma, tcgen05, kind::f16"),
            std::string::npos);
  EXPECT_FALSE(explain_descriptor({.bits = 1, .of = "tcgen05", .operand = DescriptorOperand::idesc}));
  EXPECT_NE(
      explain_descriptor({.bits = uint64_t{1} << 32, .of = "kind::f16", .operand = DescriptorOperand::idesc})
          .error()
          .text.find("32 bits"),
      std::string::npos);
  EXPECT_FALSE(explain_descriptor({.bits = 1, .of = "tcgen05.mma.cta_group::3.kind::f16"}));
}

} // namespace
} // namespace lemma

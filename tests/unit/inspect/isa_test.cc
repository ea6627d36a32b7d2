// The catalogue as public data.
#include "lemma/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma {
namespace {

constexpr const char* kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

TEST(Isa, ListsWhatAllWordsFit) {
  const auto all = matrix_instructions();
  ASSERT_TRUE(all);
  EXPECT_GT(all->size(), 100u);
  const std::string words[] = {"mma.sync", "bf16"};
  const auto some = matrix_instructions(words);
  ASSERT_TRUE(some);
  ASSERT_FALSE(some->empty());
  EXPECT_LT(some->size(), all->size());
  for (const MatrixInstruction& one : *some) {
    EXPECT_EQ(one.opcode, "mma") << "not wmma: no spelling of it begins so";
    EXPECT_FALSE(one.spellings.empty());
    EXPECT_FALSE(one.availability.targets_text.empty());
  }
  const std::string target[] = {"sm_75"};
  for (const MatrixInstruction& one : *matrix_instructions(target))
    EXPECT_NE(one.title, "wgmma.mma_async");
}

TEST(Isa, RefusesTargetsThatThereAreNot) {
  const std::string words[] = {"sm_33"};
  const auto matrices = matrix_instructions(words);
  ASSERT_FALSE(matrices);
  EXPECT_EQ(matrices.error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(
      matrices.error().text.starts_with("there is no target sm_33 (did you mean sm_30?)\n  all: sm_"));
  EXPECT_FALSE(instruction_forms(words));
  const std::vector<std::string> all = targets();
  EXPECT_NE(std::find(all.begin(), all.end(), "sm_90a"), all.end());
}

TEST(Isa, ExplainsAName) {
  const auto mma = describe_matrix(kMma);
  ASSERT_TRUE(mma) << mma.error().text;
  EXPECT_EQ(mma->spelling, kMma);
  EXPECT_EQ(mma->operand_names, (std::vector<std::string>{"d", "a", "b", "c"}));
  EXPECT_TRUE(mma->computes);
  EXPECT_FALSE(mma->by_warpgroup);
  EXPECT_EQ(mma->flops, 2u * 16 * 8 * 16);
  EXPECT_EQ(mma->instruction.availability.since.major, 7);
  const auto sm_90 = std::find_if(mma->arithmetic.begin(), mma->arithmetic.end(),
                                  [](const ArithmeticRule& rule) { return rule.arch == "sm_90"; });
  ASSERT_NE(sm_90, mma->arithmetic.end());
  EXPECT_EQ(sm_90->evidence, "measured");
}

TEST(Isa, TakesTheSpellingsOwnN) {
  const auto wgmma = describe_matrix("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16");
  ASSERT_TRUE(wgmma) << wgmma.error().text;
  EXPECT_EQ(wgmma->instruction.n, 32);
  EXPECT_TRUE(wgmma->by_warpgroup);
  ASSERT_EQ(wgmma->operands.size(), 3u);
  EXPECT_TRUE(wgmma->operands[2].in_memory);
  EXPECT_EQ(wgmma->operands[2].rows, 16);
  EXPECT_EQ(wgmma->operands[2].cols, 32);
}

TEST(Isa, SaysWhatIsNear) {
  const auto misspelled = describe_matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f23");
  ASSERT_FALSE(misspelled);
  EXPECT_NE(misspelled.error().text.find("did you mean mma.sync"), std::string::npos);
  const auto begun = describe_matrix("wgmma");
  ASSERT_FALSE(begun);
  EXPECT_NE(begun.error().text.find("begins the names of"), std::string::npos);
  EXPECT_FALSE(begun.error().text.ends_with('\n'));
}

TEST(Isa, OtherFormsNameTheirApproximateFunctions) {
  const std::string words[] = {"ex2.approx"};
  const auto forms = instruction_forms(words);
  ASSERT_TRUE(forms);
  ASSERT_FALSE(forms->empty());
  EXPECT_FALSE(forms->front().approximate.empty());
  EXPECT_FALSE(approximate_functions().empty());
  const std::string matrix[] = {"wgmma.mma_async"};
  EXPECT_TRUE(instruction_forms(matrix)->empty()) << "those are in the other list";
}

TEST(Isa, TheDialectsOperations) {
  const std::string words[] = {"warpgroup.mma", "e4m3"};
  const std::vector<NvgpuSupport> lines = nvgpu_support(words);
  ASSERT_FALSE(lines.empty());
  for (const NvgpuSupport& line : lines) {
    EXPECT_TRUE(line.operation.starts_with("nvgpu."));
    EXPECT_LE(line.equal, line.run);
    EXPECT_LE(line.run, line.forms);
  }
}

} // namespace
} // namespace lemma

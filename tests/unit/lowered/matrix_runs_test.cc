// Which matrix instructions are multiplied together, and as what.
#include "lowered/matrix_runs.h"

#include "text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

// mma.sync of f16 to f32 that adds A of %r<a>... and B of %r<b>... to %<d>0 to %<d>3.
std::string mma(int a, int b, const std::string& d) {
  return fmt::format("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%{3}0, %{3}1, %{3}2, %{3}3}}, "
                     "{{%r{0}, %r{0}, %r{1}, %r{1}}}, {{%r{2}, %r{2}}}, {{%{3}0, %{3}1, %{3}2, %{3}3}};\n",
                     a, a + 1, b, d);
}

// All of %r, %acc and %more are written.
std::string begin() {
  std::string text;
  for (int i = 0; i < 9; ++i)
    text += fmt::format("mov.b32 %r{}, 0;\n", i);
  for (int i = 0; i < 8; ++i)
    text += fmt::format("mov.b32 %acc{0}, 0; mov.b32 %more{0}, 0;\n", i);
  return text;
}

// The lines of runs.
std::string runs(const std::string& body) {
  const std::string text =
      lowered(begin() + body + " ret;", {}, "matrix_runs", {"unwritten", "loops", "constants"});
  const size_t at = text.find("\nrun");
  return at == text.npos ? "" : text.substr(at + 1);
}

TEST(MatrixRuns, that_share_a_are_one_product) {
  EXPECT_EQ(runs(mma(0, 4, "acc") + mma(0, 5, "more")),
            "run0: 16x16, 1 step: %acc0, %acc1, %more0, %more1, %acc2, %acc3, %more2, %more3 = "
            "%r0, %r1, %r0, %r1 * %r4, %r4, %r5, %r5 + "
            "%acc0, %acc1, %more0, %more1, %acc2, %acc3, %more2, %more3\n");
}

TEST(MatrixRuns, that_add_to_the_same_are_steps) {
  const std::string text = runs(mma(0, 4, "acc") + mma(0, 5, "more") + mma(2, 6, "acc") + mma(2, 7, "more"));
  EXPECT_TRUE(text.starts_with("run0: 16x16, 2 steps: ")) << text;
  EXPECT_NE(text.find("= %r0, %r1, %r2, %r3, %r0, %r1, %r2, %r3 * %r4, %r4, %r6, %r6, %r5, %r5, %r7, %r7 +"),
            text.npos)
      << text;
}

TEST(MatrixRuns, others_may_stand_between_that_touch_nothing_of_them) {
  EXPECT_NE(runs(mma(0, 4, "acc") + "add.u32 %r8, %r8, 1;\n" + mma(0, 5, "more")), "");
  EXPECT_EQ(runs(mma(0, 4, "acc") + "mov.b32 %r4, %acc0;\n" + mma(0, 5, "more")), "");
  EXPECT_EQ(runs(mma(0, 4, "acc") + "mov.b32 %r0, 1;\n" + mma(0, 5, "more")), "");
}

TEST(MatrixRuns, one_column_of_eight_is_left_alone) {
  EXPECT_EQ(runs(mma(0, 4, "acc")), "");
}

TEST(MatrixRuns, not_under_a_guard_or_of_unwritten_registers) {
  EXPECT_EQ(runs("mov.pred %p0, 1;\n@%p0 " + mma(0, 4, "acc") + "@%p0 " + mma(0, 5, "more")), "");
  EXPECT_EQ(lowered(mma(0, 4, "acc") + mma(0, 5, "more") + "ret;", {}, "matrix_runs",
                    {"unwritten", "loops", "constants"})
                .find("run0"),
            std::string::npos);
}

} // namespace
} // namespace lemma::lowered

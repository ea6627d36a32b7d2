// A module on a machine that is not its target's: what is said, and what runs.
#include "ptx/parser.h"
#include "verify/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::verify {
namespace {

Diagnostics refusal(std::string_view target, std::string_view body, int sm) {
  const auto outcome = ptx::parse(std::make_shared<SourceText>(
      "k.ptx",
      fmt::format(".version 9.0\n.target {}\n.address_size 64\n.entry k() {{\n.reg .b32 %r<9>; .reg .f32 "
                  "%f<9>; .reg .b64 %d<3>;\n{}\nret; }}\n",
                  target, body)));
  EXPECT_FALSE(has_errors(outcome.diagnostics)) << render(outcome.diagnostics, *outcome.module->source);
  EXPECT_FALSE(has_errors(verify(*outcome.module)));
  return refuse_on_machine(*outcome.module, sm);
}

std::string note(const Diagnostic& diagnostic, std::string_view label) {
  for (const auto& n : diagnostic.notes)
    if (n.label == label)
      return n.text;
  return "";
}

constexpr std::string_view kWgmma =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1, 0, 0;";

TEST(Machine, NamesTheInstructionsThatItLacks) {
  const Diagnostics said = refusal("sm_90a", kWgmma, 80);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].id, "machine");
  EXPECT_EQ(said[0].message, "a module for sm_90a does not run on sm_80");
  EXPECT_EQ(note(said[0], "runs on"), "sm_90 alone");
  EXPECT_EQ(said[1].message, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 is not in sm_80");
  EXPECT_EQ(note(said[1], "legal"), "sm_90a");
}

TEST(Machine, LaterMachinesLackWgmmaToo) {
  EXPECT_EQ(refusal("sm_90a", kWgmma, 100).size(), 2u);
  EXPECT_TRUE(refusal("sm_90a", kWgmma, 90).empty());
}

TEST(Machine, SaysWhenOnlyTheTargetIsInTheWay) {
  const Diagnostics said = refusal("sm_90", "add.s32 %r0, %r1, %r2;", 80);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(note(said[0], "fix"), "nothing in the module needs sm_90: write .target sm_80");
}

TEST(Machine, AsksForASuffixWhereOneIsNeeded) {
  const Diagnostics said = refusal("sm_90a", "setmaxnreg.inc.sync.aligned.u32 64;", 100);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(note(said[0], "fix"), "nothing in the module needs sm_90a: write .target sm_100a");
}

TEST(Machine, NamesAtMostThree) {
  std::string body;
  for (int i = 0; i < 5; ++i)
    body += std::string(kWgmma) + "\n";
  const Diagnostics said = refusal("sm_90a", body, 80);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(note(said[0], "lacking"), "5 instructions, of which the first follow");
}

TEST(Machine, RunsWhatItsTargetAllows) {
  constexpr std::string_view body = "add.s32 %r0, %r1, %r2;";
  EXPECT_TRUE(refusal("sm_75", body, 120).empty());
  EXPECT_TRUE(refusal("sm_120f", body, 121).empty());
  EXPECT_EQ(refusal("sm_120f", body, 100).size(), 1u);
  EXPECT_EQ(refusal("sm_121f", body, 120).size(), 1u);
}

} // namespace
} // namespace lemma::verify

// Which stretches can come round, and what clocks reach.
#include "lowered/loops.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

// The lines before the first block.
std::string found(const std::string& body, std::string_view pass) {
  const std::string text = lowered(body, {}, pass);
  return text.substr(0, text.find("b0:"));
}

TEST(Loops, of_a_block_and_of_two) {
  EXPECT_EQ(found("L: add.u32 %r0, %r0, 1; @%p0 bra L; mov.u32 %r1, 0;\n"
                  "M: add.u32 %r1, %r1, 1; @%p1 bra N; add.u32 %r1, %r1, 2;\nN: @%p2 bra M; ret;",
                  "loops"),
            "loop b0 to b0\nloop b2 to b4\n");
}

TEST(Loops, that_nest_or_overlap_are_one) {
  EXPECT_EQ(
      found("mov.u32 %r0, 0;\nL: add.u32 %r0, %r0, 1;\nM: add.u32 %r1, %r1, 1; @%p0 bra M; @%p1 bra L; ret;",
            "loops"),
      "loop b1 to b3\n");
}

TEST(Loops, forward_branches_are_none) {
  EXPECT_EQ(found("@%p0 bra L; mov.u32 %r0, 0;\nL: ret;", "loops"), "");
}

TEST(Loops, are_not_known_where_a_table_leads_or_a_wgmma_writes_late) {
  EXPECT_EQ(
      found("T: .branchtargets L, M;\nL: add.u32 %r0, %r0, 1; brx.idx %r0, T;\nM: @%p0 bra M; ret;", "loops"),
      "");
  EXPECT_EQ(
      found("L: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%acc0, %acc1, %acc2, %acc3}, %rd0, %rd0, "
            "%p0, 1, 1, 0, 0;\n@%p0 bra L; ret;",
            "loops"),
      "");
}

TEST(Clocks, are_what_is_computed_of_them) {
  EXPECT_EQ(found("mov.u64 %rd0, %clock64; sub.u64 %rd1, %rd0, %rd2; cvt.u32.u64 %r0, %rd1; add.u32 %r1, "
                  "%r2, 1; ret;",
                  "clocks"),
            "clock %r0 %rd0 %rd1 t0\n");
}

TEST(Clocks, end_at_predicates_and_at_memory) {
  EXPECT_EQ(found("mov.u64 %rd0, %globaltimer; setp.lt.u64 %p0, %rd0, 9; selp.b32 %r0, 1, 2, %p0;\n"
                  "ld.global.u32 %r1, [%rd0]; ret;",
                  "clocks"),
            "clock %rd0 t0\n");
}

TEST(Clocks, other_registers_are_none) {
  EXPECT_EQ(found("mov.u32 %r0, %tid.x; add.u32 %r1, %r0, 1; ret;", "clocks"), "");
}

} // namespace
} // namespace lemma::lowered

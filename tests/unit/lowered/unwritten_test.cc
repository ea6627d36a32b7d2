// Which reads are asked, by the ways that lead to them.
#include "lowered/unwritten.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

std::string after(const std::string& body) {
  return lowered(body, {}, "unwritten");
}

TEST(Unwritten, what_is_written_before_is_not_asked) {
  EXPECT_EQ(after("mov.u32 %r1, 1; add.u32 %r0, %r1, 1; st.local.u32 [8], %r0; ret;"),
            "b0:\n"
            "  %r1 = mov.u32 1\n"
            "  %r0 = add.u32 %r1, 1\n"
            "  st.local.u32 [8], %r0\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Unwritten, what_one_way_leaves_out_is_asked) {
  EXPECT_EQ(after("mov.pred %p0, 1; @%p0 bra L; mov.u32 %r1, 1; mov.u32 %r2, 1; bra M;\n"
                  "L: mov.u32 %r2, 2;\nM: add.u32 %r0, %r1, %r2; ret;"),
            "asked %r1\n"
            "b0:\n"
            "  %p0 = mov.pred 1\n"
            "  @%p0 bra b2\n"
            "b1:\n"
            "  %r1 = mov.u32 1 !marks-written\n"
            "  %r2 = mov.u32 1\n"
            "  bra b3\n"
            "b2:\n"
            "  %r2 = mov.u32 2\n"
            "b3:\n"
            "  %r0 = add.u32 %r1, %r2 !reads-unwritten\n"
            "  ret\n"
            "b4:\n"
            "  end\n");
}

TEST(Unwritten, a_guarded_write_is_none_and_a_guard_is_read) {
  EXPECT_EQ(after("@%p0 mov.u32 %r1, 1; @!%p0 mov.u32 %r1, 2; ld.global.u32 %r0, [%rd1]; ret;"),
            "asked %p0 %rd1\n"
            "b0:\n"
            "  @%p0 %r1 = mov.u32 1 !reads-unwritten\n"
            "  @!%p0 %r1 = mov.u32 2 !reads-unwritten\n"
            "  %r0 = ld.global.u32 [%rd1] !reads-unwritten\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Unwritten, a_loop_reads_what_was_written_before_it) {
  EXPECT_EQ(after("mov.u32 %r0, 0;\nL: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 9; @%p0 bra L; ret;"),
            "b0:\n"
            "  %r0 = mov.u32 0\n"
            "b1:\n"
            "  %r0 = add.u32 %r0, 1\n"
            "  %p0 = setp.lt.u32 %r0, 9\n"
            "  @%p0 bra b1\n"
            "b2:\n"
            "  ret\n"
            "b3:\n"
            "  end\n");
}

TEST(Unwritten, what_loads_give_to_stores_alone_is_carried) {
  EXPECT_EQ(after("ld.local.v2.u32 {%r0, %r1}, [8]; st.local.u32 [16], %r0; st.local.u32 [20], %r1;\n"
                  "add.u32 %r2, %r1, 1; ret;"),
            "carried %r0\n"
            "b0:\n"
            "  %r0, %r1 = ld.local.v2.u32 [8]\n"
            "  st.local.u32 [16], %r0\n"
            "  st.local.u32 [20], %r1\n"
            "  %r2 = add.u32 %r1, 1\n"
            "  ret\n"
            "b1:\n"
            "  end\n");
}

TEST(Unwritten, accumulators_are_read_too) {
  const std::string text = after("mov.u64 %rd0, 0; mov.pred %p0, 1; mov.f32 %acc0, 0f00000000;\n"
                                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%acc0, %acc1, %acc2, "
                                 "%acc3}, %rd0, %rd0, %p0, 1, 1, 0, 0;\n"
                                 "ret;");
  EXPECT_TRUE(text.starts_with("asked %acc1 %acc2 %acc3\n")) << text;
  EXPECT_NE(text.find("!updates-unwritten !marks-written\n"), text.npos) << text;
  EXPECT_EQ(text.find("!reads-unwritten"), text.npos) << text;
}

} // namespace
} // namespace lemma::lowered

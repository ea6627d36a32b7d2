// Which instructions are groups, and what is noted of addresses.
#include "lowered/constants.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

// From the first block on.
std::string after(const std::string& body) {
  const std::string text =
      lowered(body, {.parameters = ".param .u64 p"}, "constants", {"unwritten", "loops"});
  return text.substr(text.find("b0:"));
}

const std::string kLoop = "mov.u32 %r0, 0;\nL:\n";
const std::string kEnd = "add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 9; @%p0 bra L; ret;";
const std::string kLast =
    "  %r0 = add.u32 %r0, 1\n  %p0 = setp.lt.u32 %r0, 9\n  @%p0 bra b1\nb2:\n  ret\nb3:\n  end\n";

TEST(LaunchConstants, of_a_loop_are_a_group) {
  EXPECT_EQ(after(kLoop + "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; add.u32 %r3, %r2, %r0;" + kEnd),
            "b0:\n  %r0 = mov.u32 0\nb1:\n"
            "  once.launch {\n"
            "    %r1 = special %tid.x !launch-constant\n"
            "    %r2 = shl.b32 %r1, 2 !launch-constant\n"
            "  }\n"
            "  %r3 = add.u32 %r2, %r0\n" +
                kLast);
}

TEST(LaunchConstants, one_alone_is_no_group) {
  EXPECT_EQ(after(kLoop + "mov.u32 %r1, %tid.x; add.u32 %r3, %r1, %r0;" + kEnd),
            "b0:\n  %r0 = mov.u32 0\nb1:\n"
            "  %r1 = special %tid.x !launch-constant\n"
            "  %r3 = add.u32 %r1, %r0\n" +
                kLast);
}

TEST(LaunchConstants, of_a_cta_have_others_between) {
  EXPECT_EQ(after("ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ret;"),
            "b0:\n"
            "  once.cta {\n"
            "    %rd0 = ld.param.u64 [p]\n"
            "    each %r0 = special %tid.x\n"
            "    %r1 = special %ctaid.x\n"
            "  }\n"
            "  ret\nb1:\n  end\n");
}

TEST(LaunchConstants, say_how_lanes_addresses_lie) {
  EXPECT_EQ(
      after("ld.param.u64 %rd0, [p]; bar.sync 0; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8;\n"
            "add.u64 %rd2, %rd0, %rd1; ld.global.v2.u32 {%r1, %r2}, [%rd2]; ld.global.u32 %r3, [%rd2];\n"
            "ld.global.u32 %r4, [%rd0]; st.global.b64 [%rd2+8], %rd1; ret;"),
      "b0:\n"
      "  %rd0 = ld.param.u64 [p]\n"
      "  bar.sync 0\n"
      "  %r0 = special %tid.x\n"
      "  %rd1 = mul.wide.u32 %r0, 8\n"
      "  %rd2 = add.u64 %rd0, %rd1\n"
      "  %r1, %r2 = ld.global.v2.u32 [%rd2] !side-by-side\n"
      "  %r3 = ld.global.u32 [%rd2]\n"
      "  %r4 = ld.global.u32 [%rd0] !one-address\n"
      "  st.global.b64 [%rd2+8], %rd1 !side-by-side\n"
      "  ret\nb1:\n  end\n");
}

} // namespace
} // namespace lemma::lowered

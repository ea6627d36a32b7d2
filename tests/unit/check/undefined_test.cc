// What uses a value that was never written, and what only moves it.
#include "findings.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

// Thread t holds word t of `tile` in %r1; what nobody has written but thread 0.
std::string used(const std::string& use) {
  return findings_of(kernel("@%p st.shared.u32 [%a], 7;\nbar.sync 0;\nld.shared.u32 %r1, [%a];\n" + use), 32);
}

TEST(Undefined, IsAUseWhereItCanBeSeen) {
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nst.global.u32 [%out], %r2;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\nrace.global: st.global.u32 ~ st.global.u32\n");
  EXPECT_EQ(used("setp.eq.u32 %q, %r1, 3;\n@%q bra L_end;\nadd.u32 %r2, %r1, 1;\nL_end:"),
            "memory.undefined: ld.shared.u32 ~ bra\n");
  EXPECT_EQ(used("and.b32 %r2, %r1, 60;\nadd.u32 %r2, %r2, %s;\nld.shared.u32 %r3, [%r2];"),
            "memory.undefined: ld.shared.u32 ~ ld.shared.u32\n");
}

TEST(Undefined, GoesThroughSharedMemoryAndShuffles) {
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nst.shared.u32 [%a+1024], %r2;\nld.shared.u32 %r3, [%a+1024];\n"
                 "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;\n@%p st.global.u32 [%out], %r4;"),
            "memory.undefined: ld.shared.u32 ~ st.global.u32\n");
  EXPECT_EQ(used("atom.shared.add.u32 %r2, [%a+1024], 1;\nld.shared.u32 %r3, [%a+1024];\n"
                 "@%p st.global.u32 [%out], %r3;"),
            "memory.undefined: atom.shared.add.u32 ~ st.global.u32\n");
}

TEST(Undefined, IsNoUseWhereItIsMovedOrLeft) {
  // Lane 0's is written; the others' sums go nowhere.
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\n@%p st.global.u32 [%out], %r2;"), "");
  EXPECT_EQ(used("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nst.shared.u32 [%a+1024], %r2;"), "");
  // Selected away, and overwritten.
  EXPECT_EQ(used("selp.u32 %r2, %r1, 0, %p;\nadd.u32 %r2, %r2, 1;\nst.shared.u32 [%a+1024], %r2;\n"
                 "ld.shared.u32 %r3, [%a+1024];\nmad.wide.u32 %g, %t, 4, %out;\nst.global.u32 [%g], %r3;"),
            "");
  EXPECT_EQ(used("add.u32 %r2, %r1, 1;\nmov.u32 %r2, 5;\nmad.wide.u32 %g, %t, 4, %out;\n"
                 "st.global.u32 [%g], %r2;"),
            "");
}

} // namespace
} // namespace lemma::check

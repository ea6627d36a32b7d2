// Which loads and stores are copies.
#include "lowered/copies.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

const std::string kAddresses = "mov.u64 %rd0, 0; mov.u32 %r8, 0; mov.pred %p0, 1;\n";

bool is_copy(const std::string& body) {
  return lowered(kAddresses + body + " ret;", {}, "copies", {"unwritten"}).find("!copy") != std::string::npos;
}

TEST(Copies, are_a_load_and_the_store_behind_it) {
  EXPECT_TRUE(is_copy("ld.global.u32 %r0, [%rd0]; st.shared.u32 [%r8], %r0;"));
  EXPECT_TRUE(is_copy("ld.global.v2.u32 {%r0, %r1}, [%rd0]; st.shared.v2.u32 [%r8], {%r0, %r1};"));
}

TEST(Copies, are_none_of_what_others_read) {
  EXPECT_FALSE(is_copy("ld.global.u32 %r0, [%rd0]; st.shared.u32 [%r8], %r0; add.u32 %r1, %r0, 1;"));
  EXPECT_FALSE(is_copy("ld.global.u32 %r0, [%rd0]; st.shared.u32 [%r0], %r0;"));
}

TEST(Copies, are_none_of_other_registers_or_under_a_guard) {
  EXPECT_FALSE(is_copy("ld.global.v2.u32 {%r0, %r1}, [%rd0]; st.shared.v2.u32 [%r8], {%r1, %r0};"));
  EXPECT_FALSE(is_copy("ld.global.u32 %r0, [%rd0]; @%p0 st.shared.u32 [%r8], %r0;"));
  EXPECT_FALSE(is_copy("ld.global.u32 %r0, [%rd0]; add.u32 %r1, %r8, 1; st.shared.u32 [%r8], %r0;"));
}

} // namespace
} // namespace lemma::lowered

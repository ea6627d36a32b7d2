// alloca, stacksave, stackrestore.
#include "kernel.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

std::string kernel(const std::string& body) {
  return R"(
.func (.reg .b32 %r) callee() {
  .local .align 4 .b8 own[16];
  .reg .b64 %p;
  alloca.u64 %p, 64;
  st.local.u32 [own], 5;
  st.local.u32 [%p+60], 6;
  ld.local.u32 %r, [own];
  ret;
}
.visible .entry k(.param .u64 out) {
  .local .align 4 .b8 own[16];
  .reg .b64 %out, %a, %b, %s, %size;
  .reg .b32 %t, %r<6>;
  .reg .pred %p;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
)" + body +
         "\n  ret;\n}\n";
}

class Stack : public testing::Test {
protected:
  Report run(const std::string& body) {
    Kernel made(kernel(body));
    const uint64_t buffer = made.buffer(std::vector<uint32_t>(32));
    Report report = made.run({buffer});
    out = made.read<uint32_t>(buffer, 32);
    return report;
  }
  std::vector<uint32_t> out;
};

// Every lane has memory of its own, apart from its variables and from what a callee takes.
TEST_F(Stack, AllocatesMemoryOfTheLane) {
  ASSERT_EQ(fault_text(run(R"(
  st.local.u32 [own+12], 1000;
  alloca.u64 %a, 32, 64;
  alloca.u64 %b, 8;
  st.local.u32 [%a], %t;
  st.local.u32 [%a+28], %t;
  st.local.u32 [%b], 7;
  call (%r0), callee, ();
  ld.local.u32 %r1, [%a];
  ld.local.u32 %r2, [own+12];
  ld.local.u32 %r3, [%b];
  add.u32 %r1, %r1, %r2;
  mad.lo.u32 %r1, %r3, 10000, %r1;
  mad.lo.u32 %r1, %r0, 100000, %r1;
  and.b64 %a, %a, 63;
  cvt.u32.u64 %r2, %a;
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%out], %r1;
)")),
            "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 571000 + i);
}

TEST_F(Stack, RestoreGivesMemoryBack) {
  const std::string body = R"(
  mov.u32 %r0, 0;
LOOP:
  stacksave.u64 %s;
  alloca.u64 %a, 4096;
  st.local.u32 [%a+4092], %r0;
  stackrestore.u64 %s;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, 1000;
  @%p bra LOOP;
  st.global.u32 [%out], %r0;
)";
  ASSERT_EQ(fault_text(run(body)), "");
  EXPECT_EQ(out[0], 1000u);
  EXPECT_EQ(
      fault_text(run(body + "  ld.local.u32 %r0, [%a+4092];")),
      "out of bounds: read of 4 bytes at local address 0x100c is out of bounds: 4092 bytes past the end of "
      "the lane's local memory (16 bytes)");
}

// Parts of a warp that took different amounts meet again.
TEST_F(Stack, DivergedLanesMeetAgain) {
  ASSERT_EQ(fault_text(run(R"(
  setp.lt.u32 %p, %t, 7;
  @%p bra FEW;
  alloca.u64 %a, 256;
  bra BOTH;
FEW:
  alloca.u64 %a, 1024;
BOTH:
  bar.warp.sync -1;
  st.local.u32 [%a+252], %t;
  alloca.u64 %b, 16;
  st.local.u32 [%b], 0;
  ld.local.u32 %r0, [%a+252];
  activemask.b32 %r1;
  setp.eq.u32 %p, %r1, 0xffffffff;
  selp.u32 %r1, 100, 0, %p;
  add.u32 %r0, %r0, %r1;
  st.global.u32 [%out], %r0;
)")),
            "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 100 + i);
}

TEST_F(Stack, Misuse) {
  EXPECT_EQ(fault_text(run("  alloca.u64 %a, 600000;")),
            "call too deep: alloca of 600000 bytes: a thread has at most 512 KiB of local memory, and 16 are "
            "in use");
  EXPECT_EQ(
      fault_text(run("  st.local.u32 [own], 1;\n  stackrestore.u64 64;")),
      "illegal instruction: stackrestore to 0x40: no stacksave of this call gave that (its stack lies from "
      "0x10 to 0x10)");
}

} // namespace
} // namespace lemma::vgpu

// mbarrier: the object's bits as an H200 has them, phases, waiting, misuse.
#include "vgpu/async/mbarrier.h"

#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

KernelRun run(const std::string& body, uint32_t threads = 1) {
  LaunchConfig config;
  config.block = {threads, 1, 1};
  return run_body(".shared .align 8 .b64 bar;\n" + body, config);
}

TEST(Mbarrier, WordHasTheBitsOfAnH200) {
  // Read back from an H200 after init 3 (the state tokens of the first three arrivals), and after expect_tx
  // of 2^20 bytes on a phase of parity 1 that expects one arrival.
  EXPECT_EQ((Mbarrier{.pending = 3, .expected = 3}.encode() >> 32), 0x7fffe800u);
  EXPECT_EQ((Mbarrier{.pending = 2, .expected = 3}.encode() >> 32), 0x7ffff000u);
  EXPECT_EQ((Mbarrier{.parity = true, .pending = 1, .pending_bytes = 100, .expected = 3}.encode() >> 32),
            0xfffffbffu);
  EXPECT_EQ((Mbarrier{.parity = true, .pending = 1, .pending_bytes = 1 << 20, .expected = 1}.encode()),
            0xfffffa00001ffffeu);
}

TEST(Mbarrier, DecodesWhatItEncodes) {
  for (const bool parity : {false, true})
    for (const uint32_t count : {1u, 2u, 0xfffffu})
      for (const int32_t bytes : {0, 1, -1, 1048575, -1048575}) {
        const Mbarrier in{.parity = parity, .pending = count, .pending_bytes = bytes, .expected = count};
        const Mbarrier out = Mbarrier::decode(in.encode());
        EXPECT_EQ(out.parity, parity);
        EXPECT_EQ(out.pending, count);
        EXPECT_EQ(out.pending_bytes, bytes);
        EXPECT_EQ(out.expected, count);
      }
}

// Nothing is ever reported here: the conditional phase is the primary one, and reports are zero.
TEST(Mbarrier, BothLayoutsHaveBothPhases) {
  for (const char* layout : {"v0", "v1"}) {
    const KernelRun r = run(fmt::format(R"(
    .reg .b8 %b;
    mbarrier.init.layout::{0}.shared.b64 [bar], 2;
    mbarrier.check_layout.layout::v0.shared.b64 %p0, [bar];
    selp.u32 %r0, 1, 0, %p0;
    mbarrier.check_layout.layout::v1.shared.b64 %p0, [bar];
    selp.u32 %r1, 1, 0, %p0;
    st.global.v2.u32 [%out], {{%r0, %r1}};
    mbarrier.arrive.shared.b64 %rd0, [bar];
    mbarrier.test_wait.parity.phase_type::conditional.shared.b64 %p0, [bar], 0;
    selp.u32 %r0, 1, 0, %p0;
    st.global.u32 [%out+8], %r0;
    mbarrier.arrive.shared.b64 _, [bar];
    setp.eq.u32 %p2, 1, 1;
    mbarrier.try_wait.phase_type::primary.shared.b64 %p1|%p2, %b, [bar], %rd0;
    selp.u32 %r0, 1, 0, %p1;
    selp.u32 %r1, 1, 0, %p2;
    cvt.u32.u8 %r2, %b;
    st.global.v2.u32 [%out+16], {{%r0, %r1}};
    st.global.u32 [%out+24], %r2;
    mbarrier.try_wait.parity.phase_type::conditional.shared.b64 %p0, [bar], 0;
    selp.u32 %r0, 1, 0, %p0;
    mbarrier.test_wait.parity.phase_type::primary.shared.b64 %p0|%p1, [bar], 0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.v2.u32 [%out+32], {{%r0, %r1}};
    ret;)",
                                        layout));
    ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
    const bool is_v1 = layout[1] == '1';
    EXPECT_EQ(r.out[0], is_v1 ? 0u : 1u);
    EXPECT_EQ(r.out[1], is_v1 ? 1u : 0u);
    EXPECT_EQ(r.out[2], 0u);
    EXPECT_EQ(r.out[4], 1u);
    EXPECT_EQ(r.out[5], 0u);
    EXPECT_EQ(r.out[6], 0u);
    EXPECT_EQ(r.out[8], 1u);
    EXPECT_EQ(r.out[9], 1u);
  }
  const KernelRun many = run("mbarrier.init.layout::v1.shared.b64 [bar], 512;\nret;");
  EXPECT_NE(fault_in(many.report).message.find("a count of 512: legal are 1 to 511"), std::string::npos)
      << fault_in(many.report).message;
}

TEST(Mbarrier, PhaseCompletesWithTheLastArrival) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.arrive.shared.b64 %rd0, [bar];
    mbarrier.pending_count.b64 %r0, %rd0;
    st.global.u32 [%out], %r0;
    mbarrier.test_wait.shared.b64 %p0, [bar], %rd0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+4], %r1;
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.test_wait.shared.b64 %p0, [bar], %rd0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+8], %r1;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 1;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+12], %r1;
    ret;)");
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 2u);
  EXPECT_EQ(r.out[1], 0u);
  EXPECT_EQ(r.out[2], 1u);
  EXPECT_EQ(r.out[3], 0u);
}

TEST(Mbarrier, BytesAreWaitedForToo) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 96;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out], %r1;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+4], %r1;
    ret;)");
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 0u);
  EXPECT_EQ(r.out[1], 1u);
}

TEST(Mbarrier, DroppedArrivalsAreNotExpectedAgain) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.arrive_drop.shared.b64 _, [bar];
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.arrive.shared.b64 %rd0, [bar];
    mbarrier.pending_count.b64 %r0, %rd0;
    st.global.u32 [%out], %r0;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 1;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+4], %r1;
    ret;)");
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 1u);
  EXPECT_EQ(r.out[1], 1u);
}

// Warp 1 waits, warp 0 works and arrives: the wait is no busy loop, whatever the order of warps.
TEST(Mbarrier, TryWaitSleepsUntilThePhaseCompletes) {
  const KernelRun r = run(R"(
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra START;
    mbarrier.init.shared.b64 [bar], 1;
  START:
    bar.sync 0;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra WAIT;
    mov.u32 %r0, 0;
  WORK:
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p2, %r0, 100000;
    @%p2 bra WORK;
    @%p0 bra DONE;
    st.global.u32 [%out], %r0;
    mbarrier.arrive.shared.b64 _, [bar];
    bra DONE;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
    ld.global.u32 %r1, [%out];
    st.global.u32 [%out+4], %r1;
  DONE:
    ret;)",
                          64);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[1], 100000u);
  EXPECT_LT(r.report.stats.warp_instructions, 320000u);
}

TEST(Mbarrier, NobodyArrivesIsADeadlock) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
    ret;)");
  ASSERT_EQ(fault_in(r.report).kind, FaultKind::deadlock);
  ASSERT_EQ(r.report.waiting.size(), 1u);
  EXPECT_NE(r.report.waiting[0].reason.find("mbarrier"), std::string::npos) << r.report.waiting[0].reason;
}

// A loop that counts its time-outs goes on.
TEST(Mbarrier, TryWaitTimesOut) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mov.u32 %r0, 0;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @%p3 bra DONE;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p1, %r0, 10;
    @%p1 bra WAIT;
  DONE:
    st.global.u32 [%out], %r0;
    ret;)");
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 10u);
}

// Undefined; on the hardware the new object takes the old one's place.
TEST(Mbarrier, ASecondInitIsAWarning) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 2;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.shared.b64 _, [bar];
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out], %r1;
    mbarrier.inval.shared.b64 [bar];
    mbarrier.init.shared.b64 [bar], 1;
    ret;)",
                          1);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 1u);
  ASSERT_EQ(r.report.warnings.size(), 1u);
  EXPECT_NE(r.report.warnings[0].find("which holds an mbarrier already: mbarrier.inval has to end it first"),
            std::string::npos)
      << r.report.warnings[0];
}

// Triton counts phases in a predicate, which it widens with its sign.
TEST(Mbarrier, OfAParityTheLowestBitIsTaken) {
  const KernelRun r = run(R"(
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0xffffffff;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out], %r1;
    mbarrier.test_wait.parity.shared.b64 %p0, [bar], 2;
    selp.u32 %r1, 1, 0, %p0;
    st.global.u32 [%out+4], %r1;
    ret;)",
                          1);
  ASSERT_TRUE(r.report.ok()) << fault_in(r.report).message;
  EXPECT_EQ(r.out[0], 1u); // the phase before the first, of parity 1, is complete
  EXPECT_EQ(r.out[1], 0u);
  ASSERT_EQ(r.report.warnings.size(), 2u);
  EXPECT_NE(r.report.warnings[0].find("the phase parity is 4294967295: legal are 0 and 1"), std::string::npos)
      << r.report.warnings[0];
}

TEST(Mbarrier, AnInitUnderThoseWhoWaitIsAFault) {
  const KernelRun r = run(R"(
    mov.u32 %r0, %tid.x;
    setp.ge.u32 %p0, %r0, 32;
    @%p0 bra OTHER;
    mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0;
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
    ret;
  OTHER:
    bar.sync 0;
    mov.u32 %r1, 0;
  WORK:
    add.u32 %r1, %r1, 1;
    st.global.u32 [%out], %r1;
    setp.lt.u32 %p2, %r1, 100000;
    @%p2 bra WORK;
    mbarrier.init.shared.b64 [bar], 1;
    mbarrier.arrive.shared.b64 _, [bar];
    ret;)",
                          64);
  EXPECT_NE(fault_in(r.report).message.find("where threads wait for a phase of the mbarrier that is there"),
            std::string::npos)
      << fault_in(r.report).message;
}

TEST(Mbarrier, MisuseIsNamed) {
  const struct {
    const char* body;
    const char* message;
  } cases[] = {
      {"mbarrier.arrive.shared.b64 _, [bar]; ret;", "mbarrier.init has not run there"},
      {"mbarrier.init.shared.b64 [bar], 0; ret;", "legal are 1 to 1048575"},
      {"mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 _, [bar], 2; ret;", "arrived twice"},
      {"mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.noComplete.shared.b64 %rd0, [bar], 1; ret;",
       ".noComplete"},
      {"mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576; "
       "ret;",
       "tx-count"},
      {"mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, "
       "[bar]; "
       "ret;",
       "mbarrier.inval has"},
  };
  for (const auto& c : cases) {
    const KernelRun r = run(c.body);
    EXPECT_EQ(fault_in(r.report).kind, FaultKind::illegal_instruction) << c.body;
    EXPECT_NE(fault_in(r.report).message.find(c.message), std::string::npos) << fault_in(r.report).message;
  }
}

} // namespace
} // namespace lemma::vgpu

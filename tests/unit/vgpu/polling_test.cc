// Loops that wait for others and look at the clock: they give way, they end by their time-outs, and those
// that never end are deadlocks. The instructions that a launch executes show whether a loop spun.
#include "kernel.h"
#include "run_ptx.h"

#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

LaunchConfig shape(uint32_t grid, uint32_t block, AsyncMode async = AsyncMode::eager) {
  LaunchConfig config;
  config.grid = {grid, 1, 1};
  config.block = {block, 1, 1};
  config.async = async;
  config.max_instructions = 20'000'000; // where a loop would never end
  return config;
}

// Waits at `bar` for the end of the phase whose token is %rd9, as libcu++'s cuda::barrier does for sm_80: it
// tests 16 times, then looks at the clock, and sleeps ever longer.
std::string wait_as_libcuxx(const std::string& label) {
  return R"(
    mov.u64 %rd10, %globaltimer;
    mov.u32 %r90, 0;
    bra )" +
         label + R"(_TEST;
  )" + label +
         R"(_COUNT:
    add.u32 %r90, %r90, 1;
  )" + label +
         R"(_TEST:
    mbarrier.test_wait.shared.b64 %p9, [bar], %rd9;
    @%p9 bra )" +
         label + R"(_DONE;
    setp.lt.s32 %p8, %r90, 16;
    @%p8 bra )" +
         label + R"(_COUNT;
    mov.u64 %rd11, %globaltimer;
    sub.s64 %rd12, %rd11, %rd10;
    setp.lt.s64 %p8, %rd12, 4000000;
    @%p8 bra )" +
         label + R"(_SHORT;
    nanosleep.u32 1000000;
    bra )" +
         label + R"(_TEST;
  )" + label +
         R"(_SHORT:
    setp.lt.s64 %p8, %rd12, 40000;
    @%p8 bra )" +
         label + R"(_TEST;
    shr.s64 %rd13, %rd12, 2;
    cvt.u32.u64 %r91, %rd13;
    nanosleep.u32 %r91;
    bra )" +
         label + R"(_TEST;
  )" + label +
         R"(_DONE:
  )";
}

std::string wait_as_try_wait(const std::string& label) {
  return "\n" + label + ":\n mbarrier.try_wait.shared.b64 %p9, [bar], %rd9;\n @!%p9 bra " + label + ";\n";
}

// Warp 0 works for 3000 instructions before it arrives; the others wait for it, 20 times over.
std::string rounds_at_a_barrier(std::string (*wait)(const std::string&)) {
  return R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 256;
  READY:
    bar.sync 0;
    mov.u32 %r0, 0;
    mov.u32 %r1, 0;
  ROUND:
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra ARRIVE;
    mov.u32 %r2, 0;
  WORK:
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 750;
    @%p1 bra WORK;
  ARRIVE:
    mbarrier.arrive.shared.b64 %rd9, [bar];
  )" + wait("WAIT") +
         R"(
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p1, %r0, 20;
    @%p1 bra ROUND;
    mad.wide.u32 %rd1, %t, 4, %out;
    st.global.u32 [%rd1], %r0;
    ret;
  )";
}

TEST(Polling, a_loop_of_test_wait_costs_hardly_more_than_try_wait) {
  const KernelRun tries = run_body(rounds_at_a_barrier(wait_as_try_wait), shape(1, 256));
  const KernelRun tests = run_body(rounds_at_a_barrier(wait_as_libcuxx), shape(1, 256));
  ASSERT_EQ(fault_text(tries.report), "");
  ASSERT_EQ(fault_text(tests.report), "");
  EXPECT_EQ(tests.out[255], 20u);
  EXPECT_LT(tests.report.stats.warp_instructions, *tries.report.stats.warp_instructions * 5 / 4);
}

// Every thread waits for a copy that completes when nothing else can move.
TEST(Polling, a_loop_of_test_wait_lets_late_copies_complete) {
  const std::string body = R"(
    .shared .align 16 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 128;
  READY:
    bar.sync 0;
    mul.lo.u32 %r1, %t, 4;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    mad.wide.u32 %rd1, %t, 4, %in;
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    mov.u64 %rd9, 0;
  )" + wait_as_libcuxx("WAIT") +
                           R"(
    ld.shared.u32 %r3, [%r2];
    mad.wide.u32 %rd1, %t, 4, %out;
    st.global.u32 [%rd1], %r3;
    ret;
  )";
  std::vector<uint32_t> in(128);
  for (uint32_t i = 0; i < 128; ++i)
    in[i] = 7 * i;
  for (const AsyncMode mode : {AsyncMode::eager, AsyncMode::late}) {
    const KernelRun run = run_body(body, shape(1, 128, mode), 128, in);
    ASSERT_EQ(fault_text(run.report), "");
    EXPECT_EQ(run.out, in);
    EXPECT_LT(run.report.stats.warp_instructions, 400u);
  }
}

TEST(Polling, a_test_that_fails_once_returns_at_once) {
  const KernelRun run = run_body(R"(
    .shared .align 8 .b64 bar;
    mbarrier.init.shared.b64 [bar], 64;
    mbarrier.arrive.shared.b64 %rd9, [bar];
    mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;
    selp.u32 %r1, 5, 6, %p1;
    mad.wide.u32 %rd1, %t, 4, %out;
    st.global.u32 [%rd1], %r1;
    ret;
  )",
                                 shape(1, 1));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 6u);
}

TEST(Polling, a_loop_of_test_wait_that_nobody_ends_is_a_deadlock) {
  const KernelRun run = run_body(R"(
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 256;
  READY:
    bar.sync 0;
    mbarrier.arrive.shared.b64 %rd9, [bar];
  )" + wait_as_libcuxx("WAIT") + "ret;",
                                 shape(2, 128));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock) << fault_text(run.report);
  ASSERT_EQ(run.report.waiting.size(), 8u);
  EXPECT_NE(run.report.waiting[0].reason.find("has 128 of 256 arrivals"), std::string::npos)
      << run.report.waiting[0].reason;
  EXPECT_LT(run.report.stats.warp_instructions, 20'000u);
}

TEST(Polling, a_loop_on_the_clock_that_nobody_ends_is_a_deadlock) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, %globaltimer;
  SPIN:
    ld.volatile.global.u32 %r1, [%out];
    mov.u64 %rd2, %globaltimer;
    sub.u64 %rd3, %rd2, %rd1;
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra SPIN;
    ret;
  )",
                                 shape(3, 64));
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::deadlock) << fault_text(run.report);
  EXPECT_EQ(run.report.waiting.size(), 6u);
}

TEST(Polling, a_time_out_ends_its_loop_in_few_rounds) {
  for (const char* limit : {"100000", "10000000000"}) { // 0.1 ms, 10 s
    const KernelRun run = run_body(std::string(R"(
      mov.u64 %rd1, %globaltimer;
    SPIN:
      ld.volatile.global.u32 %r1, [%out];
      mov.u64 %rd2, %globaltimer;
      sub.u64 %rd3, %rd2, %rd1;
      setp.lt.u64 %p0, %rd3, )") + limit +
                                       R"(;
      @%p0 bra SPIN;
      st.global.u64 [%out+8], %rd3;
      ret;
    )",
                                   shape(1, 1));
    ASSERT_EQ(fault_text(run.report), "");
    const uint64_t waited = run.out[2] | uint64_t{run.out[3]} << 32, wanted = std::stoull(limit);
    EXPECT_GE(waited, wanted);
    EXPECT_LE(waited, 2 * wanted + 2000);
    EXPECT_LT(run.report.stats.warp_instructions, 2000u);
  }
}

TEST(Polling, a_delay_loop_ends_in_few_rounds) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, %clock64;
  SPIN:
    mov.u64 %rd2, %clock64;
    sub.u64 %rd3, %rd2, %rd1;
    setp.lt.u64 %p0, %rd3, 2000000000;
    @%p0 bra SPIN;
    st.global.u32 [%out], 1;
    ret;
  )",
                                 shape(4, 64));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_LT(run.report.stats.warp_instructions, 8u * 2000);
}

// The flag comes after 8 ms of the other CTA's work; a second would be too long.
TEST(Polling, no_time_is_jumped_over_while_others_work) {
  const KernelRun run = run_body(R"(
    mov.u32 %r1, %ctaid.x;
    setp.eq.u32 %p0, %r1, 1;
    @%p0 bra WORK;
    mov.u64 %rd1, %globaltimer;
  SPIN:
    ld.volatile.global.u32 %r2, [%out];
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra DONE;
    mov.u64 %rd2, %globaltimer;
    sub.u64 %rd3, %rd2, %rd1;
    setp.lt.u64 %p0, %rd3, 1000000000;
    @%p0 bra SPIN;
    trap;
  WORK:
    mov.u32 %r3, 0;
  MORE:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 1300000;
    @%p1 bra MORE;
    st.volatile.global.u32 [%out], 1;
  DONE:
    ret;
  )",
                                 shape(2, 1));
  EXPECT_EQ(fault_text(run.report), "");
}

TEST(Polling, a_loop_that_counts_while_it_waits_lets_late_copies_complete) {
  const KernelRun run = run_body(R"(
    .shared .align 16 .b32 tile[4];
    .shared .align 8 .b64 bar;
    mbarrier.init.shared.b64 [bar], 1;
    st.shared.u32 [tile], 0;
    mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%in], 16, [bar];
    mov.u32 %r0, 0;
  SPIN:
    add.u32 %r0, %r0, 1;
    ld.volatile.shared.u32 %r1, [tile];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra SPIN;
    st.global.u32 [%out], %r1;
    ret;
  )",
                                 shape(1, 1, AsyncMode::late), 4, {9, 9, 9, 9});
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 9u);
}

TEST(Time, nanosleep_takes_what_it_says) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, %globaltimer;
    nanosleep.u32 70000;
    mov.u64 %rd2, %globaltimer;
    sub.u64 %rd3, %rd2, %rd1;
    st.global.u64 [%out], %rd3;
    ret;
  )",
                                 shape(1, 1));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_GE(run.out[0], 70000u);
  EXPECT_LE(run.out[0], 70100u);
}

// Warp 1 sleeps for longer than warp 0 works; it must not hold it up, nor be woken early.
TEST(Time, a_sleeping_warp_lets_others_work) {
  const KernelRun run = run_body(R"(
    .shared .align 4 .b32 flag;
    setp.lt.u32 %p0, %t, 32;
    @%p0 bra WORK;
    nanosleep.u32 500000;
    ld.volatile.shared.u32 %r1, [flag];
    st.global.u32 [%out], %r1;
    ret;
  WORK:
    mov.u32 %r3, 0;
  MORE:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 10000;
    @%p1 bra MORE;
    st.volatile.shared.u32 [flag], 3;
    ret;
  )",
                                 shape(1, 64));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 3u);
}

TEST(Time, a_loop_that_sleeps_and_counts_ends) {
  const KernelRun run = run_body(R"(
    mov.u32 %r0, 0;
  AGAIN:
    nanosleep.u32 100;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p0, %r0, 10000;
    @%p0 bra AGAIN;
    st.global.u32 [%out], %r0;
    ret;
  )",
                                 shape(2, 32));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 10000u);
}

TEST(Time, a_loop_that_stores_between_sleeps_does_not_poll) {
  const KernelRun run = run_body(R"(
    mov.u32 %r1, 7;
  AGAIN:
    atom.global.add.u32 %r2, [%out], 1;
    mov.u32 %r3, %r2;
    mov.u32 %r2, 0;
    setp.lt.u32 %p0, %r3, 300;
    mov.u32 %r3, 0;
    nanosleep.u32 100;
    @%p0 bra AGAIN;
    ret;
  )",
                                 shape(1, 1));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 301u);
}

TEST(Time, the_clock_counts_the_instructions_between_two_reads) {
  const KernelRun run = run_body(R"(
    mov.u64 %rd1, %clock64;
    add.u32 %r1, %t, 1;
    add.u32 %r1, %r1, 1;
    mov.u64 %rd2, %clock64;
    sub.u64 %rd3, %rd2, %rd1;
    mad.wide.u32 %rd4, %t, 8, %out;
    st.global.u64 [%rd4], %rd3;
    ret;
  )",
                                 shape(1, 64));
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 3 * kTicksPerInstruction);
  EXPECT_EQ(run.out[126], 3 * kTicksPerInstruction);
}

} // namespace
} // namespace lemma::vgpu

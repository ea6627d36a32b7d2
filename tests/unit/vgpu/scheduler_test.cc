// The order in which warps advance, and cooperative launches.
#include "kernel.h"
#include "run_ptx.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

// Every warp counts to 20000 in shared memory, and looks how far the slowest other one is behind.
TEST(Fairness, warps_of_a_cta_advance_near_evenly) {
  LaunchConfig config;
  config.block = {256, 1, 1};
  const KernelRun run = run_body(R"(
    .shared .align 4 .b32 done[8];
    shr.u32 %r1, %t, 5;
    mul.lo.u32 %r1, %r1, 4;
    mov.u32 %r2, done;
    add.u32 %r1, %r1, %r2;
    st.volatile.shared.u32 [%r1], 0;
    bar.sync 0;
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
  COUNT:
    add.u32 %r3, %r3, 1;
    st.volatile.shared.u32 [%r1], %r3;
    and.b32 %r5, %r3, 7;
    mad.lo.u32 %r5, %r5, 4, %r2;
    ld.volatile.shared.u32 %r6, [%r5];
    sub.u32 %r7, %r3, %r6;
    max.s32 %r4, %r4, %r7;
    setp.lt.u32 %p0, %r3, 20000;
    @%p0 bra COUNT;
    mad.wide.u32 %rd1, %t, 4, %out;
    st.global.u32 [%rd1], %r4;
    ret;
  )",
                                 config, 256);
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_LE(*std::max_element(run.out.begin(), run.out.end()), 256u);
}

// Lanes 0 and 1 part in every round of their loop, which lies before the code of lane 2, and count the
// rounds.
TEST(Fairness, a_loop_that_diverges_does_not_starve_the_rest_of_its_warp) {
  LaunchConfig config;
  config.block = {3, 1, 1};
  config.max_instructions = 1'000'000;
  const KernelRun run = run_body(R"(
    .shared .align 4 .b32 flag;
    st.volatile.shared.u32 [flag], 0;
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
    setp.eq.u32 %p1, %t, 2;
    @%p1 bra OTHER;
  SPIN:
    add.u32 %r3, %r3, 1;
    setp.eq.u32 %p2, %t, 0;
    @%p2 bra SKIP;
    add.u32 %r4, %r4, 1;
  SKIP:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra SPIN;
    st.global.u32 [%out], %r1;
    ret;
  OTHER:
    st.volatile.shared.u32 [flag], 77;
    ret;
  )",
                                 config);
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 77u);
}

LaunchConfig several_workers(uint32_t ctas, uint32_t workers) {
  LaunchConfig config;
  config.grid = {ctas, 1, 1};
  config.workers = workers;
  return config;
}

// More CTAs than are resident at a time, each of next to nothing.
TEST(Places, every_cta_of_a_large_grid_runs_once) {
  constexpr uint32_t kCtas = 10000;
  const KernelRun run = run_body(R"(
    mov.u32 %r1, %ctaid.x;
    mad.wide.u32 %rd1, %r1, 4, %out;
    atom.global.add.u32 %r2, [%rd1], 1;
    ret;
  )",
                                 several_workers(kCtas, 4), kCtas);
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out, std::vector<uint32_t>(kCtas, 1));
  EXPECT_EQ(*run.report.stats.warp_instructions, 7u * kCtas); // three before the body
}

// There is memory for one CTA at a time. One that ends leaves its memory to the next, also where another
// worker has just found that there is none. (Memory of its own for each launch, since launches leave it to
// each other.)
TEST(Places, a_cta_that_ends_leaves_its_memory_to_the_next) {
  for (int run = 0; run < 200; ++run) {
    Kernel kernel(".extern .shared .align 4 .b32 words[];\n.visible .entry k() { ret; }", 320 << 10);
    kernel.config() = several_workers(2, 2);
    kernel.config().block = {1, 1, 1};
    kernel.config().shared_bytes = 100 << 10;
    ASSERT_EQ(fault_text(kernel.run({})), "") << run;
  }
}

// The first warp of CTA 0 waits for CTA 1, which sets a flag and ends; that of CTA 2, the last one, for CTA
// 0. Other warps wait for the first. So a worker that goes on from CTA 1 to 2 has done what another one's has
// looked for in vain, and waits itself: nobody else makes CTA 0 look again.
TEST(Places, those_who_wait_see_what_ended_ctas_have_done) {
  LaunchConfig config = several_workers(3, 2);
  config.block = {256, 1, 1};
  for (int run = 0; run < 50; ++run) {
    const KernelRun done = run_body(R"(
      mov.u32 %r1, %ctaid.x;
      mad.wide.u32 %rd1, %r1, 4, %out;
      setp.eq.u32 %p0, %r1, 1;
      @%p0 bra SET;
      mov.u64 %rd2, %rd1;
      setp.ge.u32 %p1, %t, 32;
      @%p1 bra WAIT;
      add.u64 %rd2, %out, 4;
      setp.eq.u32 %p1, %r1, 0;
      @%p1 bra WAIT;
      mov.u64 %rd2, %out;
    WAIT:
      ld.volatile.global.u32 %r3, [%rd2];
      setp.eq.u32 %p2, %r3, 0;
      @%p2 bra WAIT;
    SET:
      st.volatile.global.u32 [%rd1], 1;
      ret;
    )",
                                    config, 3);
    ASSERT_EQ(fault_text(done.report), "") << "run " << run;
    ASSERT_EQ(done.out, std::vector<uint32_t>(3, 1)) << "run " << run;
  }
}

// As many as are resident, each of which waits for the one that starts after it.
TEST(Places, a_cta_may_wait_for_one_that_starts_later) {
  constexpr uint32_t kCtas = 132;
  for (uint32_t workers = 1; workers <= 4; ++workers) {
    const KernelRun run = run_body(R"(
      mov.u32 %r1, %ctaid.x;
      mad.wide.u32 %rd1, %r1, 4, %out;
      setp.eq.u32 %p0, %r1, 131;
      @%p0 bra SET;
    WAIT:
      ld.volatile.global.u32 %r3, [%rd1+4];
      setp.eq.u32 %p2, %r3, 0;
      @%p2 bra WAIT;
    SET:
      st.volatile.global.u32 [%rd1], 1;
      ret;
    )",
                                   several_workers(kCtas, workers), kCtas);
    ASSERT_EQ(fault_text(run.report), "") << workers << " workers";
    EXPECT_EQ(run.out, std::vector<uint32_t>(kCtas, 1)) << workers << " workers";
  }
}

// Nobody sets what the last one waits for.
TEST(Places, a_deadlock_after_ctas_that_ended_is_found) {
  const KernelRun run = run_body(R"(
      mov.u32 %r1, %ctaid.x;
      setp.ne.u32 %p0, %r1, 999;
      @%p0 bra END;
    WAIT:
      ld.volatile.global.u32 %r3, [%out];
      setp.eq.u32 %p2, %r3, 0;
      @%p2 bra WAIT;
    END:
      ret;
    )",
                                 several_workers(1000, 3));
  ASSERT_TRUE(run.report.fault);
  EXPECT_EQ(run.report.fault->kind, FaultKind::deadlock);
}

// What nvcc makes of this_grid().sync(), twice.
constexpr std::string_view kGridSync = R"(
    mov.u32 %r1, %envreg2;
    cvt.u64.u32 %rd1, %r1;
    mov.u32 %r2, %envreg1;
    cvt.u64.u32 %rd2, %r2;
    bfi.b64 %rd3, %rd2, %rd1, 32, 32;
    setp.ne.s64 %p1, %rd3, 0;
    @%p1 bra PRESENT;
    trap;
  PRESENT:
    add.s64 %rd4, %rd3, 4;
    mov.u32 %r10, %nctaid.x;
    mov.u32 %r11, %ctaid.x;
    mov.u32 %r20, 0;
  ROUND:
    mad.wide.u32 %rd5, %r20, 4, %out;
    setp.ne.u32 %p2, %t, 0;
    @%p2 bra SYNCED;
    red.global.add.u32 [%rd5], 1;
    setp.eq.u32 %p3, %r11, 0;
    mov.u32 %r12, -2147483647;
    sub.s32 %r13, %r12, %r10;
    selp.b32 %r14, %r13, 1, %p3;
    atom.add.release.gpu.u32 %r15, [%rd4], %r14;
  WAIT:
    ld.acquire.gpu.u32 %r16, [%rd4];
    xor.b32 %r17, %r16, %r15;
    setp.gt.s32 %p4, %r17, -1;
    @%p4 bra WAIT;
  SYNCED:
    barrier.sync 0;
    ld.volatile.global.u32 %r18, [%rd5];
    setp.ne.u32 %p5, %r18, %r10;
    @%p5 trap;
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p6, %r20, 2;
    @%p6 bra ROUND;
    ret;
)";

TEST(Cooperative, the_grid_has_a_workspace_for_its_barrier) {
  LaunchConfig config;
  config.grid = {264, 1, 1};
  config.block = {64, 1, 1};
  config.cooperative = true;
  const KernelRun run = run_body(kGridSync, config);
  ASSERT_EQ(fault_text(run.report), "");
  EXPECT_EQ(run.out[0], 264u);
  EXPECT_EQ(run.out[1], 264u);
}

TEST(Cooperative, other_launches_have_none) {
  const KernelRun run = run_body(kGridSync);
  EXPECT_EQ(fault_in(run.report).kind, FaultKind::trap);
}

TEST(Cooperative, a_grid_that_is_not_resident_as_a_whole_is_refused) {
  Kernel kernel(".visible .entry k() { ret; }");
  kernel.config().shared_bytes = 100000;
  kernel.config().cooperative = true;
  kernel.config().grid = {2 * 132, 1, 1};
  EXPECT_EQ(kernel.check(), "");
  kernel.config().grid = {2 * 132 + 1, 1, 1};
  EXPECT_NE(kernel.check().find("the grid has 265, and of these, with 32 threads and 100000 bytes of shared "
                                "memory each, the machine holds 264"),
            std::string::npos)
      << kernel.check();
  kernel.config().cooperative = false;
  EXPECT_EQ(kernel.check(), "");
}

} // namespace
} // namespace lemma::vgpu

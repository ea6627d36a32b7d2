// What schedules promise, whatever they do: every cluster starts, every warp gets its share in the end. And
// programs that are right have the same results in all.
#include "vgpu/engine/schedule.h"

#include "lemma/explore.h"
#include "run_ptx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kSchedules = 60; // the table, and a good many that are drawn

LaunchConfig config_of(uint64_t schedule) {
  LaunchConfig config;
  config.schedule = schedule;
  return config;
}

TEST(Schedules, StartEveryClusterOnce) {
  for (uint64_t schedule = 0; schedule < kSchedules; ++schedule)
    for (const uint64_t clusters : {1, 2, 7, 64}) {
      const auto made = make_schedule(config_of(schedule), clusters);
      std::set<uint64_t> started;
      for (uint64_t i = 0; i < clusters; ++i)
        started.insert(made->cluster_to_start(i));
      EXPECT_EQ(started.size(), clusters) << schedule;
      EXPECT_EQ(*started.rbegin(), clusters - 1) << schedule;
      for (const size_t ready : {1, 2, 5})
        EXPECT_LT(made->cluster_to_run(ready), ready) << schedule;
      EXPECT_GT(made->turn_instructions(), 0u) << schedule;
    }
}

TEST(Schedules, LetEveryWarpRunInTheEnd) {
  for (uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    const auto made = make_schedule(config_of(schedule), 1);
    Cluster cluster;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      cluster.ctas.push_back(std::make_unique<Cta>());
      cluster.ctas.back()->linear_id = rank;
      cluster.ctas.back()->warps.resize(4);
      for (uint32_t w = 0; w < 4; ++w) {
        cluster.ctas.back()->warps[w].index = w;
        cluster.ctas.back()->warps[w].splits.resize(w == 3 && rank == 1 ? 0 : 1); // one has ended
      }
    }
    Pass pass;
    std::set<const Warp*> ran;
    for (int i = 0; i < 20000 && ran.size() < 7; ++i) {
      made->plan(cluster, pass);
      ASSERT_EQ(pass.slices.size(), 7u) << schedule;
      uint64_t executed = 0;
      for (const Slice& slice : pass.slices) {
        ASSERT_GT(slice.instructions, 0u);
        if (slice.if_none_ran && executed > 0)
          break; // all that come before spin
        executed += std::min<uint64_t>(slice.instructions, 512);
        ran.insert(slice.warp);
      }
      cluster.scheduled.executed += executed;
    }
    EXPECT_EQ(ran.size(), 7u) << schedule << ": " << schedule_text(schedule);
  }
}

TEST(Schedules, SayWhatIsUnusual) {
  std::set<std::string> texts;
  for (uint64_t schedule = 0; schedule < 8; ++schedule)
    texts.insert(schedule_text(schedule));
  EXPECT_EQ(texts.size(), 8u);
  EXPECT_EQ(schedule_text(0), "the usual one");
  EXPECT_EQ(schedule_text(1), "the last warps first, the last CTAs first, asynchronous operations late");
}

TEST(Schedules, DecideWhenOperationsCompleteUnlessTheLaunchSays) {
  LaunchConfig config = config_of(1);
  EXPECT_EQ(async_mode(config), AsyncMode::late);
  config.schedule = 3;
  EXPECT_EQ(async_mode(config), AsyncMode::eager);
  config.async = AsyncMode::random;
  EXPECT_EQ(async_mode(config), AsyncMode::random);
}

// Warps hand a token on, by polling and by try_wait; CTAs take tickets; lanes part and meet.
constexpr const char* kCorrect = R"(
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 token;
    shr.u32 %r1, %t, 5;
    setp.eq.u32 %p0, %t, 0;
    @%p0 mbarrier.init.shared.b64 [bar], 128;
    @%p0 st.shared.u32 [token], 0;
    bar.sync 0;
  POLL:
    ld.acquire.cta.shared.u32 %r2, [token];
    setp.ne.u32 %p1, %r2, %r1;
    @%p1 bra POLL;
    bar.warp.sync -1;
    add.u32 %r2, %r1, 1;
    and.b32 %r3, %t, 31;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 st.release.cta.shared.u32 [token], %r2;
    and.b32 %r4, %t, 1;
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra EVEN;
    mul.lo.u32 %r5, %t, 3;
    bra MEET;
  EVEN:
    mul.lo.u32 %r5, %t, 5;
  MEET:
    mbarrier.arrive.shared.b64 %rd1, [bar];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;
    @!%p4 bra WAIT;
    mov.u32 %r6, %ctaid.x;
    mad.lo.u32 %r6, %r6, 128, %t;
    mad.wide.u32 %rd2, %r6, 4, %out;
    st.global.u32 [%rd2], %r5;
    ret;
)";

TEST(Schedules, GiveARightProgramTheSameResults) {
  std::vector<uint32_t> want;
  for (uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    LaunchConfig config = config_of(schedule);
    config.grid = {4, 1, 1};
    config.block = {128, 1, 1};
    config.max_instructions = 10'000'000;
    const KernelRun run = run_body(kCorrect, config, 512);
    ASSERT_EQ(fault_text(run.report), "") << schedule << ": " << schedule_text(schedule);
    if (schedule == 0)
      want = run.out;
    EXPECT_EQ(run.out, want) << schedule << ": " << schedule_text(schedule);
  }
}

// Which CTA, warp and lane is the last to store: schedules differ, and each repeats.
TEST(Schedules, ShowWhatFollowsFromOrder) {
  std::set<uint32_t> last_ctas, last_warps, last_lanes;
  for (uint64_t schedule = 0; schedule < 8; ++schedule) {
    LaunchConfig config = config_of(schedule);
    config.deterministic = true; // else CTAs of the usual schedule run at the same time, in any order
    config.grid = {3, 1, 1};
    config.block = {96, 1, 1};
    const char* const body = R"(
      mov.u32 %r1, %ctaid.x;
      st.global.u32 [%out], %r1;
      shr.u32 %r2, %t, 5;
      st.global.u32 [%out + 4], %r2;
      setp.lt.u32 %p0, %t, 16;
      @%p0 bra LOW;
      st.global.u32 [%out + 8], 1;
      bra MEET;
    LOW:
      st.global.u32 [%out + 8], 2;
    MEET:
      ret;
    )";
    const KernelRun run = run_body(body, config), again = run_body(body, config);
    ASSERT_EQ(fault_text(run.report), "");
    EXPECT_EQ(run.out, again.out) << schedule;
    last_ctas.insert(run.out[0]);
    last_warps.insert(run.out[1]);
    config.grid = {1, 1, 1};
    config.block = {32, 1, 1};
    last_lanes.insert(run_body(body, config).out[2]);
  }
  EXPECT_GT(last_ctas.size(), 1u);
  EXPECT_GT(last_warps.size(), 1u);
  EXPECT_EQ(last_lanes.size(), 2u);
}

// A warp counts while it waits for another, so that it is not found to poll: starving that is not for ever.
TEST(Schedules, DoNotStarveForEver) {
  for (uint64_t schedule = 0; schedule < 20; ++schedule) {
    LaunchConfig config = config_of(schedule);
    config.block = {96, 1, 1};
    config.max_instructions = 30'000'000;
    const KernelRun run = run_body(R"(
      .shared .align 4 .b32 flags[3];
      shr.u32 %r1, %t, 5;
      mov.u32 %r2, flags;
      mad.lo.u32 %r3, %r1, 4, %r2;
      st.shared.u32 [%r3], 0;
      bar.sync 0;
      mov.u32 %r4, 0;
    WORK:
      add.u32 %r4, %r4, 1;
      setp.lt.u32 %p0, %r4, 2000;
      @%p0 bra WORK;
      st.release.cta.shared.u32 [%r3], 1;
      mov.u32 %r5, 0;
    SPIN:
      add.u32 %r5, %r5, 1;
      ld.acquire.cta.shared.u32 %r6, [flags];
      ld.acquire.cta.shared.u32 %r7, [flags + 4];
      ld.acquire.cta.shared.u32 %r8, [flags + 8];
      add.u32 %r6, %r6, %r7;
      add.u32 %r6, %r6, %r8;
      setp.ne.u32 %p1, %r6, 3;
      @%p1 bra SPIN;
      mad.wide.u32 %rd1, %t, 4, %out;
      st.global.u32 [%rd1], %r6;
      ret;
    )",
                                   config);
    EXPECT_EQ(fault_text(run.report), "") << schedule << ": " << schedule_text(schedule);
    EXPECT_EQ(run.out[95], 3u) << schedule;
  }
}

// A short turn ends before the warps of a CTA have all looked at their mbarrier again, as CUTLASS's loop has
// them do.
TEST(Schedules, FindADeadlockHoweverShortTheTurns) {
  for (const uint64_t schedule : {2, 3, 6, 7}) {
    LaunchConfig config = config_of(schedule);
    config.grid = {40, 1, 1};
    config.block = {1024, 1, 1};
    config.max_instructions = 2'000; // of a warp; else the launch might never end
    const KernelRun run = run_body(R"(
      .shared .align 8 .b64 bar;
      setp.eq.u32 %p0, %t, 0;
      @%p0 mbarrier.init.shared.b64 [bar], 1;
      bar.sync 0;
    LAB_WAIT:
      mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 0x989680;
      @%p1 bra DONE;
      bra LAB_WAIT;
    DONE:
      ret;
    )",
                                   config);
    ASSERT_TRUE(run.report.fault) << schedule;
    EXPECT_EQ(run.report.fault->kind, FaultKind::deadlock) << schedule << ": " << schedule_text(schedule);
  }
}

// The lowest lane, as a GPU does, unless any may be.
TEST(Schedules, ElectAnotherLaneOnlyWhereThatIsAskedFor) {
  const auto elected = [](Elect elect, uint64_t schedule, size_t warnings) {
    LaunchConfig config = config_of(schedule);
    config.block = {32, 1, 1};
    config.elect = elect;
    const auto run = run_body("elect.sync %r1|%p0, 0xffffffff; st.global.u32 [%out], %r1; ret;", config);
    EXPECT_EQ(run.report.warnings.size(), warnings);
    if (warnings) {
      EXPECT_NE(run.report.warnings.front().find("elect.sync elects another lane"), std::string::npos);
    }
    return run.out[0];
  };
  for (uint64_t schedule = 0; schedule < 4; ++schedule) {
    EXPECT_EQ(elected(Elect::lowest, schedule, 0), 0u);
    const bool highest = schedule == 0 || schedule % 2 != 0;
    EXPECT_EQ(elected(Elect::any, schedule, highest), highest ? 31u : 0u);
  }
}

TEST(Schedules, KnowFloatingPointAtomics) {
  const auto has = [](const char* body) { return run_body(body).report.float_atomics; };
  EXPECT_TRUE(has("mov.f32 %f1, 0f3F800000; red.global.add.f32 [%out], %f1; ret;"));
  EXPECT_FALSE(has("red.global.add.u32 [%out], 1; ret;"));
  EXPECT_FALSE(
      has("mov.f32 %f1, 0f3F800000; setp.eq.u32 %p0, %t, 99; @%p0 red.global.add.f32 [%out], %f1; ret;"));
}

} // namespace
} // namespace lemma::vgpu

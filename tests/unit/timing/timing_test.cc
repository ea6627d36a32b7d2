// Times on the virtual GPU, and the sums over them.
#include "lemma/timing.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 at) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  atom.global.add.u32 %r1, [%rd1], 1;
  ret;
}
.visible .entry traps() { trap; }
)";

TEST(Timing, LaunchesAgainAndAgainOnTheVirtualGpu) {
  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(kText);
  const auto counter = device->allocate(4);
  const Argument arguments[] = {*counter};
  const auto step = Step::launch(*module->kernel("count"), {.block = {1}}, arguments);
  ASSERT_TRUE(step) << step.error().text;
  EXPECT_EQ(step->name(), "count");
  const Work work{*step};
  const auto times = time_in_turns(*device, std::span(&work, 1), {.rounds = 2, .launches = 3, .warm_up = 1});
  ASSERT_TRUE(times) << times.error().text;
  EXPECT_EQ(times->works[0].seconds[0].size(), 6u);
  for (const double seconds : times->works[0].seconds[0])
    EXPECT_GT(seconds, 0);
  uint32_t count = 0;
  ASSERT_TRUE(counter->copy_to(std::as_writable_bytes(std::span(&count, 1))));
  EXPECT_EQ(count, 1 + 2 * (1 + 3u));
  EXPECT_NE(times->no_state, "");
}

TEST(Timing, AFaultIsAnError) {
  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(kText);
  const auto step = Step::launch(*module->kernel("traps"), {}, {});
  const Work work{*step};
  const auto times = time_in_turns(*device, std::span(&work, 1), {});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().kind, ErrorKind::kernel_failed);
  EXPECT_FALSE(Step::launch(*module->kernel("count"), {}, {})); // it takes an argument
}

TEST(Timing, SpreadIsBetweenTheValues) {
  const Spread one = spread_of({3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.low, 3);
  const Spread spread = spread_of({11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(spread.median, 6);
  EXPECT_DOUBLE_EQ(spread.low, 2);
  EXPECT_DOUBLE_EQ(spread.high, 10);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).median, 1.5);
}

} // namespace
} // namespace lemma

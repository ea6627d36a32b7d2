// Clocks: what is covered after joins, and that copies share until one of them changes.
#include "check/knowledge.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

TEST(Clock, CoversWhatItWasAdvancedTo) {
  Clock clock;
  EXPECT_FALSE(clock.covers(7, 2, 0, 1));
  clock.advance(7, 2, kAllLanes, 3);
  EXPECT_TRUE(clock.covers(7, 2, 31, 3));
  EXPECT_FALSE(clock.covers(7, 2, 31, 4));
  EXPECT_FALSE(clock.covers(7, 1, 0, 1)); // another agent
  EXPECT_FALSE(clock.covers(8, 2, 0, 1)); // another cluster
}

TEST(Clock, KnowsLanesOneByOne) {
  Clock clock;
  clock.advance(0, 0, kAllLanes, 2);
  clock.advance(0, 0, 1u << 5, 4);
  EXPECT_TRUE(clock.covers(0, 0, 5, 4));
  EXPECT_TRUE(clock.covers(0, 0, 6, 2));
  EXPECT_FALSE(clock.covers(0, 0, 6, 3));
  clock.advance(0, 0, ~(1u << 5), 4);
  EXPECT_TRUE(clock.covers_all(0, 0, 4));
}

TEST(Clock, JoinsLaneByLane) {
  Clock a, b;
  a.advance(0, 1, 0x0000ffff, 5);
  b.advance(0, 1, 0xffff0000, 6);
  b.advance(3, 0, kAllLanes, 1);
  a.join(b);
  EXPECT_TRUE(a.covers(0, 1, 0, 5));
  EXPECT_FALSE(a.covers(0, 1, 0, 6));
  EXPECT_TRUE(a.covers(0, 1, 31, 6));
  EXPECT_TRUE(a.covers(3, 0, 9, 1));
  EXPECT_FALSE(b.covers(0, 1, 0, 1)); // b is as it was
}

TEST(Clock, CopiesShareUntilOneChanges) {
  Clock a;
  a.advance(0, 0, kAllLanes, 1);
  Clock b = a;
  EXPECT_TRUE(a.shares_with(b));
  b.advance(0, 0, kAllLanes, 2);
  EXPECT_FALSE(a.shares_with(b));
  EXPECT_FALSE(a.covers(0, 0, 0, 2));
  EXPECT_TRUE(b.covers(0, 0, 0, 2));
}

TEST(MapClocks, AreOneForEachMap) {
  constexpr vgpu::MemoryScope kGpu = vgpu::MemoryScope::gpu;
  Clock clock;
  clock.advance(0, 0, kAllLanes, 1);
  MapClocks a, b;
  a.release(clock, kGpu);
  a.acquire(0x100, kGpu);
  EXPECT_EQ(a.of(0x180, kSameGpu), nullptr);
  EXPECT_TRUE(a.of(0x100, kSameGpu)->covers(0, 0, 0, 1));
  b.join(a);
  EXPECT_TRUE(b.shares_with(a));
  clock.advance(0, 1, kAllLanes, 2);
  b.release(clock, kGpu);
  b.acquire(0x180, kGpu);
  a.join(b);
  EXPECT_FALSE(a.of(0x100, kSameGpu)->covers(0, 1, 0, 2));
  EXPECT_TRUE(a.of(0x180, kSameGpu)->covers(0, 1, 0, 2));
}

// However it was come by: a join where nothing is new costs a comparison of pointers from then on.
TEST(Clock, SharesWhatItKnowsAsFar) {
  Clock a, b;
  for (uint64_t cluster = 0; cluster < 4; ++cluster) {
    a.advance(cluster, 1, 0x5, 3);
    b.advance(cluster, 1, 0x5, 3);
  }
  EXPECT_FALSE(a.shares_with(b));
  a.join(b);
  EXPECT_TRUE(a.shares_with(b));
  b.advance(2, 1, 0x2, 4); // lanes 0 and 2 until 3, lane 1 until 4
  EXPECT_FALSE(a.covers(2, 1, 1, 4));
  a.join(b);
  EXPECT_TRUE(a.shares_with(b) && a.covers(2, 1, 1, 4) && a.covers(2, 1, 2, 3));
  a.advance(2, 1, 0x1, 5);
  b.join(a); // which knows more
  EXPECT_TRUE(b.shares_with(a) && b.covers(2, 1, 0, 5));
  a.advance(2, 1, 0x8, 6);
  b.advance(2, 1, 0x10, 7);
  a.join(b); // neither does
  EXPECT_TRUE(a.covers(2, 1, 3, 6) && a.covers(2, 1, 4, 7) && !b.covers(2, 1, 3, 6));
}

TEST(Clock, HasClustersInTheirOrder) {
  Clock a, b;
  for (const uint64_t cluster : {7u, 1u, 4u})
    a.advance(cluster, 0, kAllLanes, 1);
  for (const uint64_t cluster : {9u, 4u, 0u, 2u})
    b.advance(cluster, 0, kAllLanes, 2);
  a.join(b);
  for (const uint64_t cluster : {0u, 1u, 2u, 4u, 7u, 9u})
    EXPECT_TRUE(a.covers(cluster, 0, 31, cluster % 3 == 1 && cluster != 4 ? 1 : 2)) << cluster;
  EXPECT_FALSE(a.covers(3, 0, 0, 1) || a.covers(8, 0, 0, 1));
}

TEST(MapClocks, ReachAsFarAsBothScopes) {
  using vgpu::MemoryScope;
  const auto covers = [](MemoryScope release, MemoryScope acquire, Distance distance) {
    Clock clock;
    clock.advance(0, 0, kAllLanes, 1);
    MapClocks maps;
    maps.release(clock, release);
    EXPECT_EQ(maps.is_released(distance, 0, 0, 0, 1), includes(release, distance));
    maps.acquire(0x100, acquire);
    return maps.of(0x100, distance)->covers(0, 0, 0, 1);
  };
  EXPECT_TRUE(covers(MemoryScope::cta, MemoryScope::cta, kSameCta));
  EXPECT_FALSE(covers(MemoryScope::cta, MemoryScope::gpu, kSameCluster));
  EXPECT_FALSE(covers(MemoryScope::gpu, MemoryScope::cta, kSameCluster));
  EXPECT_TRUE(covers(MemoryScope::cluster, MemoryScope::gpu, kSameCluster));
  EXPECT_FALSE(covers(MemoryScope::cluster, MemoryScope::gpu, kSameGpu));
  EXPECT_TRUE(covers(MemoryScope::sys, MemoryScope::gpu, kSameGpu));
}

} // namespace
} // namespace lemma::check

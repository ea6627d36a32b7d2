// Accesses to shared memory that wait until another one meets them. src/check/pending.h; that those which it
// meets are found: tests/unit/check/order_test.cc.
#include "check/pending.h"

#include <gtest/gtest.h>

#include <array>

namespace lemma::check {
namespace {

// One of all lanes, a word each from `offset` on.
struct Row {
  std::array<uint64_t, 32> addresses{};
  vgpu::Access range;
  vgpu::WarpAccess access{.access = range};
  Row(uint64_t offset, vgpu::AccessKind kind, uint32_t bytes = 4) {
    for (uint64_t lane = 0; lane < 32; ++lane)
      addresses[lane] = offset + lane * bytes;
    range.offset = offset;
    range.bytes = 32 * bytes;
    range.kind = kind;
    access.pieces = kAllLanes;
    access.piece_bytes = bytes;
    access.addresses = addresses.data();
    access.lowest = offset;
    access.lie = vgpu::LanesLie::side_by_side;
  }
  bool reads(Pending& pending, uint32_t agent = 1) const {
    return pending.add_read(access, {.agent = agent}, access.lie);
  }
  bool updates(Pending& pending, uint32_t agent = 1) const {
    return pending.add_update(access, {.agent = agent}, access.lie,
                              [] { return std::make_shared<const Known>(Clock()); });
  }
};
constexpr auto kRead = vgpu::AccessKind::copy, kWrite = vgpu::AccessKind::write,
               kAtomic = vgpu::AccessKind::atomic;

TEST(Pending, ReadsWaitForAWriteToTheirPage) {
  Pending pending(4096);
  EXPECT_TRUE(Row(0, kRead).reads(pending, 7));
  EXPECT_FALSE(pending.meet(Row(1024, kWrite).range)); // another page
  EXPECT_FALSE(pending.meet(Row(0, kRead).range));     // a read that may not wait
  EXPECT_FALSE(Row(1024, kRead).reads(pending));       // which is written
  ASSERT_TRUE(pending.meet(Row(960, kWrite).range));   // reaches into both
  const std::vector<Pending::Waiting>& taken = pending.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].who.agent, 7u);
  EXPECT_EQ(*pending.offsets(taken[0]), 0u);
  EXPECT_FALSE(Row(2048, kRead).reads(pending)); // nothing waits until the threads have met
  EXPECT_FALSE(pending.meet(Row(0, kWrite).range));
}

TEST(Pending, UpdatesWaitForEveryOtherAccess) {
  const auto met_by = [](const Row& other) {
    Pending pending(4096);
    EXPECT_TRUE(Row(0, kAtomic).updates(pending));
    EXPECT_TRUE(Row(0, kAtomic).updates(pending));
    return pending.meet(other.range);
  };
  EXPECT_TRUE(met_by(Row(0, kRead)));
  EXPECT_TRUE(met_by(Row(0, kWrite)));
  EXPECT_TRUE(met_by(Row(0, kAtomic)));
  EXPECT_FALSE(met_by(Row(1024, kWrite)));
  Pending pending(4096);
  EXPECT_TRUE(Row(0, kAtomic).updates(pending));
  EXPECT_FALSE(Row(0, kRead).reads(pending));         // races with them
  EXPECT_FALSE(Row(0, kAtomic, 8).updates(pending));  // so does another size
  EXPECT_TRUE(Row(1024, kRead).reads(pending));       // not there
  EXPECT_FALSE(Row(1024, kAtomic).updates(pending));  // that one would
  EXPECT_FALSE(pending.meet(Row(2048, kRead).range)); // a read that is entered:
  EXPECT_FALSE(Row(2048, kAtomic).updates(pending));  // it is not known what it was
}

TEST(Pending, NothingWaitsAfterABarrierThatOrdersIt) {
  Pending pending(4096);
  EXPECT_TRUE(Row(0, kRead).reads(pending));
  pending.forget();
  EXPECT_FALSE(pending.meet(Row(0, kWrite).range));
  pending.forget();
  EXPECT_TRUE(Row(0, kRead).reads(pending));
}

// Each time that waiting was in vain it is left off for longer.
TEST(Pending, WaitsLessOftenWhereWritesFollowReads) {
  Pending pending(4096);
  int waited = 0;
  for (int i = 0; i < 64; ++i, pending.forget())
    if (Row(0, kRead).reads(pending)) {
      ++waited;
      ASSERT_TRUE(pending.meet(Row(0, kWrite).range));
      pending.take();
    }
  EXPECT_GE(waited, 3);
  EXPECT_LE(waited, 8);
}

} // namespace
} // namespace lemma::check

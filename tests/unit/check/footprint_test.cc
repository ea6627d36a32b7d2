// Footprints compared: which bytes meet, and which uses are no conflict. Those of launches:
// tests/check/streams_test.cc.
#include "check/footprint.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

std::optional<Meeting> meeting(Use a, Use b) {
  Footprint first, second;
  first.add(0x1000, 64, a);
  second.add(0x1020, 64, b);
  return first_meeting(first, second);
}

TEST(Footprint, MeetsWhereOneWritesAndNotBothStrongly) {
  EXPECT_FALSE(meeting(Use::weak_read, Use::weak_read));
  EXPECT_FALSE(meeting(Use::strong_read, Use::weak_read));
  EXPECT_FALSE(meeting(Use::strong_write, Use::strong_read));
  EXPECT_FALSE(meeting(Use::strong_write, Use::strong_write));
  for (const auto& [a, b] : {std::pair{Use::weak_write, Use::weak_read},
                             {Use::weak_write, Use::weak_write},
                             {Use::weak_write, Use::strong_read},
                             {Use::strong_write, Use::weak_read},
                             {Use::strong_write, Use::weak_write}}) {
    for (const auto& met : {meeting(a, b), meeting(b, a)}) {
      ASSERT_TRUE(met);
      EXPECT_EQ(met->address, 0x1020u);
      EXPECT_EQ(met->bytes, 32u);
    }
    EXPECT_EQ(meeting(a, b)->use_of_a, a);
    EXPECT_EQ(meeting(a, b)->use_of_b, b);
  }
}

TEST(Footprint, FindsTheLowestByteAndCountsThemAll) {
  Footprint a, b;
  a.add(100, 1 << 20, Use::weak_write);
  b.add(50, 50, Use::weak_read);
  EXPECT_FALSE(first_meeting(a, b));
  b.add(700'001, 3, Use::weak_read);
  b.add(8190, 4, Use::weak_read); // over the end of a page
  const auto met = first_meeting(a, b);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->address, 8190u);
  EXPECT_EQ(met->bytes, 7u);
  EXPECT_FALSE(met->may_be_ordered);
}

TEST(Footprint, KnowsOfFlags) {
  Footprint a, b;
  a.add(0, 4, Use::weak_write);
  b.add(0, 4, Use::weak_read);
  a.add(1 << 16, 4, Use::strong_write);
  b.add(1 << 16, 4, Use::strong_read);
  EXPECT_TRUE(first_meeting(a, b)->may_be_ordered);
  EXPECT_TRUE(first_meeting(b, a)->may_be_ordered);
}

TEST(Footprint, ForgetsExactlyTheBytes) {
  for (const uint64_t bytes : {uint64_t{100}, uint64_t{1} << 20}) { // few pages, and many
    Footprint a, b;
    a.add(0x10000, 4096 + bytes, Use::weak_write);
    b.add(0x10000 + 4000, bytes, Use::weak_write);
    EXPECT_EQ(first_meeting(a, b)->bytes, bytes);
    a.forget(0x10000 + 4001, bytes - 2);
    const auto meeting = first_meeting(a, b);
    ASSERT_TRUE(meeting);
    EXPECT_EQ(meeting->bytes, 2u);
    EXPECT_EQ(meeting->address, 0x10000u + 4000);
    a.forget(0x10000, 4096 + bytes);
    EXPECT_FALSE(first_meeting(a, b));
  }
}

TEST(Footprint, IsEmptyUntilSomethingIsAdded) {
  Footprint footprint;
  EXPECT_TRUE(footprint.is_empty());
  footprint.add(5, 0, Use::weak_read);
  EXPECT_TRUE(footprint.is_empty());
  footprint.add(5, 1, Use::weak_read);
  EXPECT_FALSE(footprint.is_empty());
}

} // namespace
} // namespace lemma::check

// Sets of accesses: members, what they have in common, who holds them. src/check/access_sets.h; what is taken
// away from them: tests/unit/check/order_test.cc.
#include "check/access_sets.h"

#include <gtest/gtest.h>

#include <vector>

namespace lemma::check {
namespace {

constexpr Record kRead{.bytes = 4};
constexpr Record kWrite{.bytes = 4, .writes = true};
constexpr Record kAtomic{
    .bytes = 4, .order = {vgpu::Semantics::relaxed, vgpu::MemoryScope::gpu}, .writes = true, .atomic = true};

std::vector<uint32_t> records_in(const AccessSets::Set& set) {
  std::vector<uint32_t> records;
  for (const AccessSets::Member& member : set.members)
    records.push_back(member.record);
  return records;
}

TEST(AccessSets, HaveTheirWritersFirst) {
  AccessSets::Set set;
  set.add({1, 0xf}, kRead);
  set.add({2, 1}, kWrite);
  set.add({3, 1}, kRead);
  set.add({4, 1}, kWrite);
  EXPECT_EQ(records_in(set), (std::vector<uint32_t>{2, 4, 3, 1}));
  EXPECT_EQ(set.writers, 2u);
  set.erase_if([](const AccessSets::Member& member) { return member.record == 2 || member.record == 3; });
  EXPECT_EQ(records_in(set), (std::vector<uint32_t>{4, 1}));
  EXPECT_EQ(set.writers, 1u);
  EXPECT_EQ(set.find(1)->lanes, 0xfu);
  EXPECT_EQ(set.find(2), nullptr);
}

TEST(AccessSets, AreStrongIfAllMembersAre) {
  Record narrow = kAtomic, wide = kAtomic;
  narrow.order.scope = vgpu::MemoryScope::cta;
  wide.bytes = 8;
  AccessSets::Set strong;
  strong.add({1, 1}, kAtomic);
  strong.add({2, 1}, kAtomic);
  EXPECT_EQ(strong.strong_bytes, 4u);
  for (const Record& other : {narrow, wide, kRead}) {
    AccessSets::Set set;
    set = strong;
    set.add({3, 1}, other);
    EXPECT_EQ(set.strong_bytes, 0u);
    AccessSets::Set turned;
    turned.add({1, 1}, other);
    turned.add({2, 1}, kAtomic);
    EXPECT_EQ(turned.strong_bytes, 0u);
  }
}

TEST(AccessSets, FindMembersHoweverManyThereAre) {
  AccessSets::Set set;
  for (uint32_t record = 1; record <= 100; ++record) {
    set.add({1000 * record, record}, record % 10 == 0 ? kWrite : kRead);
    for (uint32_t known = 1; known <= record; ++known) {
      const AccessSets::Member* const member = set.find(1000 * known);
      ASSERT_TRUE(member) << known << " of " << record;
      EXPECT_EQ(member->lanes, known);
    }
    EXPECT_EQ(set.find(7), nullptr);
  }
  const uint32_t last = set.members.back().record;
  set.replace_last({7, 9}, kRead);
  EXPECT_EQ(set.find(last), nullptr);
  EXPECT_EQ(set.find(7)->lanes, 9u);
  set.erase_writers(5);
  EXPECT_EQ(set.find(10'000), nullptr);
  EXPECT_EQ(set.find(100'000)->lanes, 100u);
  EXPECT_EQ(set.writers, 5u);
}

TEST(AccessSets, AreCopiedByWhoChangesWhatOthersHold) {
  AccessSets sets;
  AccessSets::Free free;
  const AccessSets::Number one = sets.make(free);
  sets[one].add({7, 1}, kRead);
  EXPECT_EQ(sets.own(free, one), one);
  sets.share(one);
  const AccessSets::Number copy = sets.own(free, one);
  EXPECT_NE(copy, one);
  sets[copy].add({8, 1}, kRead);
  EXPECT_EQ(sets[one].members.size(), 1u);
  EXPECT_EQ(sets[copy].members.size(), 2u);
}

TEST(AccessSets, AreUsedAgainWhenNobodyHoldsThem) {
  AccessSets sets;
  AccessSets::Free free;
  const AccessSets::Number one = sets.make(free);
  sets[one].add({7, 1}, kWrite);
  sets.share(one);
  EXPECT_FALSE(sets.release(free, one));
  EXPECT_TRUE(sets.release(free, one));
  EXPECT_EQ(sets.make(free), one);
  EXPECT_TRUE(sets[one].members.empty());
  EXPECT_EQ(sets[one].writers, 0u);
}

TEST(AccessSets, StayWhereTheyAre) {
  AccessSets sets;
  AccessSets::Free free;
  const AccessSets::Number first = sets.make(free);
  const AccessSets::Set* const place = &sets[first];
  for (uint32_t i = 0; i < 5000; ++i)
    sets[sets.make(free)].add({i, 1}, kRead);
  EXPECT_EQ(&sets[first], place);
  EXPECT_GT(sets.bytes(), 5000 * sizeof(AccessSets::Set));
}

} // namespace
} // namespace lemma::check

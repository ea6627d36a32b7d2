// Granules, records and sets.
#include "check/shadow.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

uint32_t cells(Shadow& shadow, uint64_t offset, uint64_t bytes) {
  uint32_t count = 0;
  shadow.each(offset, bytes, [&](Cell&, uint64_t) { ++count; });
  return count;
}

TEST(Shadow, GranulesGetFinerAndKeepWhatTheyHeld) {
  AccessSets sets;
  Shadow shadow(4096, sets);
  shadow.each(0, 256, [](Cell& cell, uint64_t at) { cell.write = at == 0 ? 5 : 6; });
  EXPECT_EQ(cells(shadow, 0, 256), 2u);
  EXPECT_EQ(cells(shadow, 96, 32), 1u); // from now on granules of 32 bytes
  EXPECT_EQ(cells(shadow, 0, 256), 8u);
  const auto expect_kept = [&] {
    shadow.each(0, 256, [](Cell& cell, uint64_t at) { EXPECT_EQ(cell.write, at < 128 ? 5u : 6u) << at; });
  };
  expect_kept();
  EXPECT_EQ(cells(shadow, 4, 4), 1u);
  EXPECT_EQ(cells(shadow, 0, 256), 64u);
  EXPECT_EQ(cells(shadow, 2, 2), 1u);
  EXPECT_EQ(cells(shadow, 0, 256), 128u);
  EXPECT_EQ(cells(shadow, 7, 1), 1u);
  EXPECT_EQ(cells(shadow, 0, 256), 256u);
  expect_kept();
}

TEST(Shadow, RangesCrossPages) {
  AccessSets sets;
  Shadow shadow(4096, sets);
  EXPECT_EQ(cells(shadow, 1024 - 128, 256), 2u);
  EXPECT_EQ(cells(shadow, 1024 - 4, 8), 2u);
  EXPECT_EQ(cells(shadow, 0, 4096), 2 * 256u + 2 * 8u);
}

// In `since`, lanes are counted from the cell's position.
TEST(Shadow, DividedCellsKeepTheirLanes) {
  AccessSets sets;
  AccessSets::Free free;
  Shadow shadow(1024, sets);
  const AccessSets::Number set = sets.make(free);
  sets[set].add(AccessSets::Member::from({9, 0x80000011}, 2), {});
  shadow.each(0, 1024, [&](Cell& cell, uint64_t at) {
    if (at == 128)
      cell.since = Records::id(7, 3 - 1);
    if (at == 256)
      cell.since = Cell::kSet | set;
  });
  EXPECT_EQ(cells(shadow, 4, 4), 1u);
  shadow.each(128, 256, [&](Cell& cell, uint64_t at) {
    const auto position = static_cast<uint32_t>(at / 4);
    if (at < 256)
      EXPECT_EQ((static_cast<uint32_t>(Records::lane_of(cell.since)) + position) % 32, 3u) << at;
    else
      EXPECT_EQ(sets[cell.since & ~Cell::kSet].members.front().at(position).lanes, 0x80000011u) << at;
  });
}

TEST(Records, NumbersBeginWithOneAndEnd) {
  Records records(2048);
  Records::Cursor one, other;
  EXPECT_EQ(records.add(one, {.epoch = 7}), 1u);
  EXPECT_EQ(records.add(other, {.epoch = 8}), 1024u); // a chunk of its own
  EXPECT_EQ(records[1].epoch, 7u);
  EXPECT_EQ(records[1024].epoch, 8u);
  for (int i = 2; i < 1024; ++i)
    EXPECT_NE(records.add(one, {}), 0u);
  EXPECT_EQ(records.add(one, {}), 0u); // full
}

} // namespace
} // namespace lemma::check

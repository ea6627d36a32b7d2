// What is kept of atomic operations on global memory until something else is done to the page.
// src/check/updates.h; that they are found then: tests/unit/check/order_test.cc.
#include "check/updates.h"

#include <gtest/gtest.h>

#include <utility>

namespace lemma::check {
namespace {

std::vector<std::pair<uint64_t, uint32_t>> records_in(const Updates& updates) {
  std::vector<std::pair<uint64_t, uint32_t>> records;
  updates.each([&](uint64_t at, const AccessSets::Member& by) { records.emplace_back(at, by.record); });
  return records;
}

TEST(Updates, AreTheLastOfEachWordInTheirOrder) {
  Updates updates(4, 1024);
  const auto knew = std::make_shared<const Known>(Clock());
  for (uint32_t record = 1; record <= Updates::kMost + 3; ++record)
    updates.add(8, {record, 1}, knew);
  updates.add(1020, {1, 2}, knew);
  std::vector<std::pair<uint64_t, uint32_t>> expected;
  for (uint32_t record = 4; record <= Updates::kMost + 3; ++record)
    expected.emplace_back(8, record);
  expected.emplace_back(1020, 1);
  EXPECT_EQ(records_in(updates), expected);
}

TEST(Updates, OfOneRecordAreOne) {
  Updates updates(8, 1024);
  const auto knew = std::make_shared<const Known>(Clock()), later = std::make_shared<const Known>(Clock());
  updates.add(16, {5, 1}, knew);
  updates.add(16, {5, 4}, later);
  updates.each([&](uint64_t at, const AccessSets::Member& by) {
    EXPECT_EQ(at, 16u);
    EXPECT_EQ(by.lanes, 5u);
  });
  EXPECT_EQ(records_in(updates).size(), 1u);
  EXPECT_EQ(updates.knew(5), later);
}

} // namespace
} // namespace lemma::check

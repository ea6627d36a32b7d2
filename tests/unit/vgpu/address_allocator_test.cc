// AddressAllocator by itself: no two parts meet, holes join and are used again, and who has an address is
// found.
#include "vgpu/memory/address_allocator.h"

#include "vgpu/memory/memory.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kBegin = (uint64_t{7} << 30) + 4096, kMiB = uint64_t{1} << 20;

TEST(AddressAllocator, TakesTheSmallestHoleAndJoinsHoles) {
  AddressAllocator range(kBegin, kBegin + 64 * kMiB, 256);
  const uint64_t a = range.take(2 * kMiB), b = range.take(100), c = range.take(5 * kMiB), d = range.take(1);
  EXPECT_EQ(a, kBegin);
  EXPECT_EQ(b, a + 3 * kMiB);
  EXPECT_EQ(c, b + 256 + kMiB);
  range.give_back(a, 2 * kMiB);
  range.give_back(c, 5 * kMiB);
  EXPECT_EQ(range.take(kMiB), a); // the smaller one of the two that have room
  range.give_back(a, kMiB);
  range.give_back(b, 100);
  EXPECT_EQ(range.take(9 * kMiB), a); // over all three
  range.give_back(a, 9 * kMiB);
  range.give_back(d, 1);
  EXPECT_EQ(range.take(63 * kMiB), kBegin);
  EXPECT_EQ(range.take(0), 0u);
  EXPECT_EQ(range.take(UINT64_MAX), 0u);
}

// Against a map of what is out: random parts come and go.
TEST(AddressAllocator, PartsAreApartAndFound) {
  constexpr uint64_t kBytes = 4096 * kMiB;
  AddressAllocator range(kBegin, kBegin + kBytes, 256);
  std::map<uint64_t, Allocation> out;
  std::mt19937 random(1);
  uint64_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 16 < 9) {
      const uint64_t bytes = random() % 3 == 0 ? random() % (64 * kMiB) : random() % 5000;
      const uint64_t base = range.take(bytes);
      if (base == 0) {
        ++refused;
        continue;
      }
      ASSERT_EQ(base % 256, 0u);
      ASSERT_TRUE(base >= kBegin && base + bytes + kMiB <= kBegin + kBytes);
      const auto above = out.lower_bound(base);
      ASSERT_TRUE(above == out.end() || base + bytes + kMiB <= above->first);
      ASSERT_TRUE(above == out.begin() ||
                  std::prev(above)->first + std::prev(above)->second.size_bytes + kMiB <= base);
      Allocation& made = out[base];
      made.base = base;
      made.size_bytes = bytes;
      range.put(made);
    } else if (!out.empty()) {
      auto which = out.lower_bound(kBegin + random());
      if (which == out.end())
        which = out.begin();
      const Allocation& one = which->second;
      if (one.size_bytes != 0) {
        ASSERT_EQ(range.at(one.base), &one);
        ASSERT_EQ(range.at(one.base + one.size_bytes - 1), &one);
      }
      range.remove(one);
      ASSERT_NE(range.at(one.base), &one);
      range.give_back(one.base, one.size_bytes);
      out.erase(which);
    }
  }
  EXPECT_GT(refused, 0u); // it was full at times
  for (const auto& [base, one] : out)
    range.give_back(base, one.size_bytes);
  EXPECT_EQ(range.take(kBytes - kMiB), kBegin); // all of it is one hole again
}

} // namespace
} // namespace lemma::vgpu

// What WrittenBytes say, against a flag for every byte.
#include "vgpu/memory/written_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kPage = WrittenBytes::kPageBytes;

TEST(WrittenBytes, every_range_of_three_words) {
  constexpr uint64_t kBytes = 160;
  for (uint64_t begin = 0; begin < kBytes; ++begin) {
    for (uint64_t end = begin + 1; end <= kBytes; ++end) {
      WrittenBytes map(kBytes);
      map.set(begin, end - begin);
      EXPECT_TRUE(map.all_set(begin, end - begin));
      EXPECT_EQ(map.first_unset(begin, kBytes - begin), end);
      if (begin > 0) {
        EXPECT_EQ(map.first_unset(begin - 1, 1), begin - 1);
      }
    }
  }
}

// Asks everything about one range, whose flags stand beside.
void expect_same(const WrittenBytes& map, const std::vector<bool>& flags, uint64_t begin, uint64_t end) {
  const auto first = [&](bool value) {
    return static_cast<uint64_t>(std::find(flags.begin() + static_cast<std::ptrdiff_t>(begin),
                                           flags.begin() + static_cast<std::ptrdiff_t>(end), value) -
                                 flags.begin());
  };
  ASSERT_EQ(map.first_unset(begin, end - begin), first(false)) << begin << " to " << end;
  ASSERT_EQ(map.first_set(begin, end - begin), first(true)) << begin << " to " << end;
  ASSERT_EQ(map.all_set(begin, end - begin), first(false) == end) << begin << " to " << end;
  if (end - begin <= kPage && begin != end && map.pages_hold(begin, end - begin)) {
    ASSERT_EQ(first(false), end) << begin << " to " << end;
  }
  const uint64_t few = std::min<uint64_t>(end - begin, 32);
  uint32_t unset = 0;
  for (uint64_t i = 0; i < few; ++i)
    unset |= static_cast<uint32_t>(!flags[begin + i]) << i;
  ASSERT_EQ(map.unset_among(begin, static_cast<uint32_t>(few)), unset) << begin;
}

TEST(WrittenBytes, are_those_of_random_writes_and_copies) {
  std::mt19937_64 random(1);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{63}, uint64_t{64}, kPage - 1, kPage, kPage + 1,
                               3 * kPage, 3 * kPage + 70, 5 * kPage - 64}) {
    WrittenBytes map(bytes);
    std::vector<bool> flags(bytes);
    for (int turn = 0; turn < 4000; ++turn) {
      uint64_t begin = random() % bytes, end = begin + random() % (bytes - begin) + 1;
      if (random() % 2) // whole words and pages
        begin &= ~uint64_t{63};
      if (random() % 4 == 0)
        begin = std::min(begin & ~(kPage - 1), end), end = std::min(bytes, (end | (kPage - 1)) + 1);
      if (random() % 2) // a warp's store
        end = std::min(end, begin + 128);
      switch (random() % 16) {
      case 0:
        map.unset_range(begin, end - begin);
        std::fill(flags.begin() + static_cast<std::ptrdiff_t>(begin),
                  flags.begin() + static_cast<std::ptrdiff_t>(end), false);
        break;
      case 1: {
        const auto among =
            static_cast<uint32_t>(random() & ((uint64_t{1} << std::min<uint64_t>(32, bytes - begin)) - 1));
        map.unset(begin, among);
        for (uint64_t i = 0; i < 32; ++i)
          if (among >> i & 1)
            flags[begin + i] = false;
        break;
      }
      case 2:
        if (random() % 8 == 0) {
          map.clear();
          std::fill(flags.begin(), flags.end(), false);
        }
        break;
      default:
        map.set(begin, end - begin);
        std::fill(flags.begin() + static_cast<std::ptrdiff_t>(begin),
                  flags.begin() + static_cast<std::ptrdiff_t>(end), true);
      }
      const uint64_t from = random() % bytes, to = from + random() % (bytes - from) + 1;
      ASSERT_NO_FATAL_FAILURE(expect_same(map, flags, from, to)) << bytes << " bytes, turn " << turn;
      ASSERT_NO_FATAL_FAILURE(expect_same(map, flags, begin, end)) << bytes << " bytes, turn " << turn;
    }
  }
}

TEST(WrittenBytes, hold_pages_however_these_were_filled) {
  constexpr uint64_t kBytes = 2 * kPage + 100;
  for (const uint64_t step : {uint64_t{1}, uint64_t{4}, uint64_t{100}, uint64_t{128}, kPage, kBytes}) {
    WrittenBytes map(kBytes);
    EXPECT_FALSE(map.pages_hold(0, 1));
    for (uint64_t at = 0; at < kBytes; at += step)
      map.set(at, std::min(step, kBytes - at));
    for (uint64_t at = 0; at < kBytes; at += 50)
      EXPECT_TRUE(map.pages_hold(at, std::min(kPage, kBytes - at))) << step << " at " << at;
    map.unset(kPage, 1);
    EXPECT_FALSE(map.pages_hold(kPage - 1, 2));
    EXPECT_TRUE(map.pages_hold(0, kPage));
    EXPECT_TRUE(map.pages_hold(2 * kPage, 100));
    map.set(kPage, 1);
    EXPECT_TRUE(map.pages_hold(kPage - 1, 2));
  }
}

TEST(WrittenBytes, lose_nothing_between_threads) {
  constexpr uint64_t kBytes = 3 * kPage, kThreads = 4;
  for (int turn = 0; turn < 20; ++turn) {
    WrittenBytes map(kBytes);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&map, t, turn] {
        if (t == 0 && turn % 2 == 0)
          map.set(kPage, kPage); // the whole page, as others fill it
        for (uint64_t i = t; i < kBytes; i += kThreads) {
          map.set(i, 1);
          if (i % 7 == 0) { // its own alone
            map.unset(i, 1);
            map.set(i, 1);
          }
        }
      });
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_TRUE(map.all_set(0, kBytes));
    EXPECT_TRUE(map.pages_hold(0, kPage) && map.pages_hold(kPage, kPage) && map.pages_hold(2 * kPage, kPage));
    map.clear();
    EXPECT_EQ(map.first_unset(0, kBytes), 0u);
  }
}

} // namespace
} // namespace lemma::vgpu

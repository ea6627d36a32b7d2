// Which older values a strong load may still get: those that a write has replaced which the thread knows
// nothing of.
#include "check/old_values.h"

#include <gtest/gtest.h>

namespace lemma::check {
namespace {

constexpr uint32_t kBytes = 4;
constexpr LaneMask kFirst = 1;

// A place that CTA 0 has written with 1, 2, 3; its agent's epochs are the numbers.
struct Written {
  Written() {
    for (uint32_t i = 0; i < 3; ++i) {
      SyncLocation now;
      now.version = i;
      history.replace(i, kBytes, now, {.cluster = 0, .agent = 0, .lanes = kFirst, .epoch = i + 1});
    }
  }
  std::vector<uint64_t> allowed(const WarpKnowledge& warp, uint32_t bytes = kBytes) {
    std::vector<uint64_t> values;
    for (const OldValue* old : history.allowed(warp, kFirst, bytes))
      values.push_back(old->value);
    return values;
  }
  // The first writes are known to it.
  static WarpKnowledge reader(Epoch known) {
    WarpKnowledge warp(1, 5);
    Knowledge learned;
    learned.known.advance(0, 0, kAllLanes, known);
    if (known > 0)
      warp.acquire(kAllLanes, learned);
    return warp;
  }
  History history;
};

TEST(OldValues, AreThoseWhoseReplacementIsNotKnown) {
  Written place;
  EXPECT_EQ(place.allowed(Written::reader(0)), (std::vector<uint64_t>{2, 1, 0}));
  EXPECT_EQ(place.allowed(Written::reader(1)), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(place.allowed(Written::reader(2)), (std::vector<uint64_t>{2}));
  EXPECT_EQ(place.allowed(Written::reader(3)), (std::vector<uint64_t>{}));
}

TEST(OldValues, AreNoneForWhoHasReplacedThem) {
  EXPECT_EQ(Written().allowed(WarpKnowledge(0, 0)), (std::vector<uint64_t>{}));
}

TEST(OldValues, AreNotOlderThanWhatWasRead) {
  Written place;
  place.history.has_read(1, 5, 1, 1);
  EXPECT_EQ(place.allowed(Written::reader(0)), (std::vector<uint64_t>{2, 1}));
  // What another has read counts once it is known.
  place.history.has_read(2, 7, 4, 2);
  EXPECT_EQ(place.allowed(Written::reader(0)), (std::vector<uint64_t>{2, 1}));
  WarpKnowledge warp = Written::reader(0);
  Knowledge learned;
  learned.known.advance(2, 7, kAllLanes, 4);
  warp.acquire(kAllLanes, learned);
  EXPECT_EQ(place.allowed(warp), (std::vector<uint64_t>{2}));
}

TEST(OldValues, AreOfOneSize) {
  Written place;
  EXPECT_EQ(place.allowed(Written::reader(0), 8), (std::vector<uint64_t>{}));
  place.history.replace(9, 8, {}, {.cluster = 0, .agent = 0, .lanes = kFirst, .epoch = 4});
  EXPECT_EQ(place.allowed(Written::reader(0), 8), (std::vector<uint64_t>{9}));
  EXPECT_EQ(place.allowed(Written::reader(0)), (std::vector<uint64_t>{}));
}

TEST(OldValues, ComeToAnEnd) {
  Written place;
  for (int i = 0; i < 100; ++i)
    for (OldValue* old : place.history.allowed(Written::reader(0), kFirst, kBytes))
      ++old->given;
  EXPECT_EQ(place.allowed(Written::reader(0)), (std::vector<uint64_t>{}));
}

} // namespace
} // namespace lemma::check

// Budgets and shares of them: limits, words, moves, threads that take at once.
#include "support/memory_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lemma {
namespace {

TEST(MemoryBudget, GivesWhatThereIsAndNoMore) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(60));
  EXPECT_FALSE(budget.try_take(41));
  EXPECT_FALSE(budget.try_take(UINT64_MAX)) << "the sum wraps";
  EXPECT_TRUE(budget.try_take(40));
  EXPECT_TRUE(budget.try_take(0));
  EXPECT_EQ(budget.in_use(), 100u);
  budget.give_back(100);
  EXPECT_EQ(budget.in_use(), 0u);
}

TEST(MemoryBudget, SaysWhatForAndHowMuchIsInUse) {
  MemoryBudget budget(100);
  budget.take(60, "one");
  try {
    budget.take(50, "the registers of k");
    FAIL() << "50 more were given";
  } catch (const std::bad_alloc& problem) {
    EXPECT_STREQ(problem.what(), "no memory for the registers of k: 50 bytes more than the 60 in use; the "
                                 "limit is 100 (--max-memory)");
  }
  EXPECT_EQ(budget.in_use(), 60u);
}

TEST(MemoryBudget, ASharesBytesComeBackWithIt) {
  MemoryBudget budget(100);
  {
    MemoryShare share(budget);
    share.take(30, "one");
    share.take(30, "two");
    share.give_back(10);
    EXPECT_EQ(share.bytes(), 50u);
    MemoryShare moved(std::move(share));
    // NOLINTNEXTLINE(bugprone-use-after-move, clang-analyzer-cplusplus.Move): what is left behind is nothing
    EXPECT_EQ(share.bytes(), 0u);
    EXPECT_EQ(moved.bytes(), 50u);
    EXPECT_THROW(moved.take(51, "three"), OverBudget);
    EXPECT_EQ(budget.in_use(), 50u);
    MemoryShare other(budget);
    other.take(50, "four");
    other = std::move(moved);
    EXPECT_EQ(budget.in_use(), 50u) << "what `other` had is back";
  }
  EXPECT_EQ(budget.in_use(), 0u);
  MemoryShare unbounded;
  unbounded.take(UINT64_MAX, "anything");
  EXPECT_EQ(unbounded.bytes(), 0u);
}

TEST(MemoryBudget, HoldsWhenThreadsTakeAtOnce) {
  MemoryBudget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i)
        if (budget.try_take(300)) {
          EXPECT_LE(budget.in_use(), 1000u);
          budget.give_back(300);
        }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(budget.in_use(), 0u);
}

TEST(MemoryBudget, TheDefaultIsSomethingOfThisMachine) {
  EXPECT_GT(default_memory_limit(), uint64_t{1} << 20);
  EXPECT_LT(default_memory_limit(), uint64_t{1} << 62);
}

} // namespace
} // namespace lemma

// How many threads run at a time, where the host or a control group allows fewer than it has.
#include "support/processors.h"

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lemma {
namespace {

TEST(Processors, AreThoseThatTheProcessMayRunOn) {
  EXPECT_GE(count_processors(), 1u);
  EXPECT_LE(count_processors(), std::max(1u, std::thread::hardware_concurrency()));
  EXPECT_EQ(usable_processors(), count_processors());
}

TEST(Processors, AreOneWhereTheThreadMayRunOnOne) {
  unsigned seen = 0;
  std::thread([&] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int first = 0;
    while (!CPU_ISSET(first, &allowed))
      ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    seen = count_processors();
  }).join();
  EXPECT_EQ(seen, 1u);
}

TEST(Processors, OfAQuota) {
  EXPECT_EQ(processors_of_quota("200000 100000"), 2u);
  EXPECT_EQ(processors_of_quota("150000 100000"), 2u);
  EXPECT_EQ(processors_of_quota("5000 100000"), 1u);
  for (const char* none : {"max 100000", "", " ", "-1 100000", "100000", "100000 0", "100000 x"})
    EXPECT_EQ(processors_of_quota(none), 0u) << none;
}

} // namespace
} // namespace lemma

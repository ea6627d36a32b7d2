// Parts of a range: each byte once, whatever the range's length; and who has them.
#include "support/in_parts.h"

#include "support/processors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lemma {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// In order, as (begin, count).
std::vector<std::pair<uint64_t, uint64_t>> parts_of(uint64_t bytes) {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  in_parts(bytes, [&](uint64_t begin, uint64_t count) {
    const std::lock_guard lock(mutex);
    parts.emplace_back(begin, count);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST(InParts, CoverTheRangeOnce) {
  for (const uint64_t bytes : {uint64_t{1}, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1, 9 * kMiB + 77, 64 * kMiB}) {
    uint64_t end = 0;
    for (const auto& [begin, count] : parts_of(bytes)) {
      EXPECT_EQ(begin, end);
      EXPECT_GT(count, 0u);
      end = begin + count;
    }
    EXPECT_EQ(end, bytes);
  }
}

TEST(InParts, AShortRangeIsOneCallOnThisThread) {
  std::thread::id thread;
  int calls = 0;
  in_parts(kMiB, [&](uint64_t, uint64_t) {
    thread = std::this_thread::get_id();
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(InParts, SeveralThreadsHaveALongOne) {
  // Whoever comes first waits for another one, if there is one.
  const bool several = usable_processors() > 1;
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  in_parts(64 * kMiB, [&](uint64_t, uint64_t) {
    if (++inside > 1)
      met = true;
    for (int i = 0; several && !met && i < 200; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside;
  });
  EXPECT_EQ(met.load(), several);
}

} // namespace
} // namespace lemma

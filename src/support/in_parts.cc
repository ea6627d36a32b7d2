// Parts are short against what a thread may be late by, and long against what it takes to ask for one.
#include "support/in_parts.h"

#include "support/processors.h"
#include "support/worker_pool.h"

#include <algorithm>
#include <atomic>

namespace lemma {
namespace {

constexpr uint64_t kPartBytes = 1 << 20;
constexpr uint64_t kLeastParts = 4;  // that other threads are asked for
constexpr uint64_t kMostThreads = 8; // memory is no faster by more

} // namespace

void in_parts(uint64_t bytes, const std::function<void(uint64_t begin, uint64_t count)>& f) {
  const uint64_t parts = (bytes + kPartBytes - 1) / kPartBytes;
  const uint64_t threads = std::min<uint64_t>({parts, usable_processors(), kMostThreads});
  if (parts < kLeastParts || threads == 1) {
    f(0, bytes);
    return;
  }
  std::atomic<uint64_t> next{0};
  run_on_workers(threads - 1, [&] {
    for (uint64_t part; (part = next.fetch_add(1)) < parts;)
      f(part * kPartBytes, std::min(kPartBytes, bytes - part * kPartBytes));
  });
}

} // namespace lemma

// Locks that are held for a few dozen instructions at a time.
#pragma once

#include <atomic>
#include <thread>

namespace lemma::check {

// Whoever holds it may have been put aside by the host: then waiting here would keep its core from it.
inline void acquire(std::atomic_flag& flag) {
  constexpr int kSpins = 256;
  for (int spins = 0; flag.test_and_set(std::memory_order_acquire); ++spins)
    if (spins >= kSpins)
      std::this_thread::yield();
}

} // namespace lemma::check

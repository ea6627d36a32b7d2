// Strong writes to global memory, by place: several host threads look them up.
#pragma once

#include "check/checker.h"
#include "check/spin.h"

#include <atomic>

namespace lemma::check {

inline constexpr size_t kShards = 64;

struct Checker::Shard {
  // For a few dozen instructions at a time.
  struct Lock {
    void lock() { acquire(flag); }
    void unlock() { flag.clear(std::memory_order_release); }
    std::atomic_flag flag;
  } mutex;
  SyncLocations locations;
};

inline size_t shard_of(uint64_t address) {
  return address / 4 % kShards;
}

} // namespace lemma::check

// Strong writes to global memory, by place: several host threads look them up.
#pragma once

#include "check/checker.h"

#include <functional>

namespace lemma::check {

inline constexpr size_t kShards = 64;

struct Checker::Shard {
  std::mutex mutex;
  SyncLocations locations;
};

inline size_t shard_of(const void* owner, uint64_t offset) {
  return (std::hash<const void*>()(owner) / 64 + offset / 4) % kShards;
}

} // namespace lemma::check

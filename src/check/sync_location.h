// Places that are read and written strongly, and what a thread learns there of those who have written.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "check/knowledge.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lemma::check {

// Whose strong write was there to be read, be it without a release.
struct StrongWriter {
  uint64_t cluster = 0;
  uint32_t cta_rank = 0;
  vgpu::MemoryScope scope = vgpu::MemoryScope::none;
  std::shared_ptr<const Clock> knew = {}; // what preceded it, that of its warp together
  uint32_t agent = 0;
  LaneMask lanes = 0;
  Epoch epoch = 0; // of its warp
  Spot by = {};
};
// ... and what it released; a chain of atomics hands it on.
struct Released : StrongWriter {
  Knowledge knowledge;
};
// Lanes that have read a strong write, and got its value: they may go by it.
struct Reader {
  uint64_t cluster = 0;
  uint32_t cta_rank = 0;
  uint32_t agent = 0;
  LaneMask lanes = 0;
  Epoch epoch = 0;
  vgpu::MemoryScope scope = vgpu::MemoryScope::none;
};
// By a thread that has a fence.sc before it (fences.cc).
struct FencedRead {
  std::shared_ptr<const Knowledge> knew = {}; // at the fence
  uint64_t version = 0;                       // of the place
  uint64_t cluster = 0;
  uint32_t agent = 0;
  Epoch epoch = 0;
};
class History; // old_values.h
struct SyncLocation {
  std::vector<Released> released;
  std::vector<StrongWriter> writers; // the last ones of a chain of atomics, and the write that it began with
  size_t oldest = 0;                 // of them
  uint64_t version = 0;             // no other location, and not this one before its last write, has this one
  std::vector<Reader> readers;      // of the last write, and so of those that atomics hand on with it
  std::shared_ptr<History> history; // null: nobody asks
  std::vector<FencedRead> fenced_reads; // of this version and those before

  // As nobody had ever written there, but for what passes the test.
  template <class F>
  void keep_released(F&& keeps) {
    std::vector<Released> kept = std::move(released);
    std::erase_if(kept, [&](const Released& each) { return !keeps(each); });
    *this = {.released = std::move(kept),
             .writers = {},
             .oldest = 0,
             .version = 0,
             .readers = {},
             .history = history,
             .fenced_reads = std::move(fenced_reads)};
  }
};
// An allocation or CTA, and an offset there.
struct SyncKey {
  const void* owner = nullptr;
  uint64_t offset = 0;
  friend bool operator==(const SyncKey&, const SyncKey&) = default;
};
struct SyncHash {
  size_t operator()(const SyncKey& key) const {
    return (std::hash<const void*>()(key.owner) + key.offset) * 0x9e3779b97f4a7c15u >> 16;
  }
};
using SyncLocations = std::unordered_map<SyncKey, SyncLocation, SyncHash>;

} // namespace lemma::check

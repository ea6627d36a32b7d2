// Places that are read and written strongly, and what a thread learns there of those who have written.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "check/knowledge.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lemma::check {

// Whose strong write was there to be read, be it without a release.
struct StrongWriter {
  uint64_t cluster = 0;
  uint32_t cta_rank = 0;
  vgpu::MemoryScope scope = vgpu::MemoryScope::none;
  std::shared_ptr<const Known> knew = {}; // what preceded it, that of its warp together
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
  static constexpr size_t kMostWriters = 8; // of a chain of atomics, that are remembered
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
// Lanes that write there are one of the writers, or go on being the last one; `version`: what the location is
// from now on. What others have read before, nobody asks for any more.
inline void note_writer(SyncLocation& location, const StrongWriter& writer, uint64_t version) {
  constexpr size_t kMost = SyncLocation::kMostWriters;
  location.version = version;
  location.readers.clear();
  std::vector<StrongWriter>& writers = location.writers;
  if (!writers.empty()) {
    StrongWriter& last = writers[writers.size() < kMost ? writers.size() - 1 : (location.oldest - 1) % kMost];
    if (last.knew == writer.knew && last.epoch == writer.epoch && last.scope == writer.scope &&
        last.by == writer.by) {
      last.lanes |= writer.lanes;
      return;
    }
  }
  if (writers.size() < kMost)
    writers.push_back(writer);
  else
    writers[location.oldest++ % kMost] = writer;
}
// Those of global memory, by their addresses there; or those of a cluster's shared memory, by
// shared::cluster addresses. They stay where they are until all are forgotten.
class SyncLocations {
public:
  // Null: nobody has written there.
  SyncLocation* find(uint64_t address) const {
    return slots_.empty() ? nullptr : slots_[slot_of(address)].location;
  }
  SyncLocation& operator[](uint64_t address) {
    if (2 * count_ >= slots_.size())
      grow();
    Slot& slot = slots_[slot_of(address)];
    if (!slot.location) {
      if (count_ % kChunk == 0)
        chunks_.push_back(std::make_unique<SyncLocation[]>(kChunk));
      slot = {address, &chunks_.back()[count_++ % kChunk]};
    }
    return *slot.location;
  }
  bool empty() const { return count_ == 0; }
  void clear() {
    slots_.clear();
    chunks_.clear();
    count_ = 0;
  }

private:
  struct Slot {
    uint64_t address = 0;
    SyncLocation* location = nullptr; // null: free
  };
  size_t slot_of(uint64_t address) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (address * 0x9e3779b97f4a7c15u >> 16) & mask;
    while (slots_[at].location && slots_[at].address != address)
      at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> slots(std::max<size_t>(16, 2 * slots_.size()));
    slots.swap(slots_);
    for (const Slot& slot : slots)
      if (slot.location)
        slots_[slot_of(slot.address)] = slot;
  }

  static constexpr size_t kChunk = 16;

  std::vector<Slot> slots_; // a power of two
  std::vector<std::unique_ptr<SyncLocation[]>> chunks_;
  size_t count_ = 0;
};

} // namespace lemma::check

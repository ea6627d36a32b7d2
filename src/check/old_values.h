// Older values of a place in global memory that a strong load may still get, in the schedules that give them
// (lemma::gives_old_values()): a run has one value for each word otherwise, and a defect that shows only
// where a thread sees writes later than they were made would stay silent.
//
// A thread may get what a write has replaced unless it knows of that write, or of a later one, or has read,
// or knows of somebody who has read, what is newer. PTX ISA: "Memory Consistency Model": "Coherence Order",
// "Causality". fence.sc are in the order of the run (Checker::fences_in_order()).
//
// Tests: tests/unit/check/old_values_test.cc, tests/check/corpus.
#pragma once

#include "check/sync_location.h"

#include <cstdint>
#include <vector>

namespace lemma::check {

// A value, what came with it, and the write that has replaced it.
struct OldValue {
  uint64_t value = 0;
  SyncLocation then; // without a history
  StrongWriter replaced_by;
  uint32_t given = 0; // so many times: a loop that waits must come to an end
};

class History {
public:
  static constexpr size_t kMostValues = 4, kMostReads = 256;
  static constexpr uint32_t kMostTimes = 3;

  // Before the write: `value` stands there.
  void replace(uint64_t value, uint32_t bytes, const SyncLocation& now, const StrongWriter& by);
  // Lanes of a warp have read what has that version.
  void has_read(uint64_t cluster, uint32_t agent, Epoch epoch, uint64_t version);
  // Those of `bytes` bytes that lanes of a warp may get, the newest first.
  std::vector<OldValue*> allowed(const WarpKnowledge& warp, LaneMask lanes, uint32_t bytes);

private:
  struct Read {
    uint64_t cluster = 0;
    uint32_t agent = 0;
    Epoch epoch = 0;
    uint64_t version = 0;
  };
  std::vector<OldValue> values_; // the newest last
  std::vector<Read> reads_;
  uint32_t bytes_ = 0;
};

} // namespace lemma::check

// What compiled code keeps in an Exec while it runs. Plain data at fixed places: the code addresses it.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/code/code.h"
#include "vgpu/engine/polling.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>

namespace lemma::vgpu {

// A part of a warp gives way after so many instructions while others were ready.
inline constexpr uint64_t kGiveWayAfter = 1024;
inline uint64_t left_before_giving_way(uint64_t ran) {
  return kGiveWayAfter - std::min(ran, kGiveWayAfter);
}

// Parts of the warp that compiled code has told apart wait, each at the begin of a block of its unit, for the
// part that runs: the one with the lowest pc. Where the code returns they become splits.
inline constexpr uint32_t kMostJoinPoints = 64; // of a unit

struct CompiledState {
  uint64_t end = 0;                                // Exec::executed at which the part that runs stops
  uint64_t turn_end = 0;                           // ... and every part
  uint64_t part_begin = 0;                         // ... and at which it went on
  uint64_t ran = 0;                                // what it had run until then: Split::ran_before_others
  uint64_t is_divided = 0;                         // the warp has other splits
  uint64_t lanes = 0;                              // of what was executed, for the caller to count
  uint32_t meeting = ptx::kNone;                   // another split may join at this pc
  uint32_t others_below = 0;                       // and others where it began, below it
  const uint32_t* join_pcs = nullptr;              // of the unit that runs, by join point
  uint64_t waiting_at = 0;                         // a bit for each join point at which a part waits
  std::array<LaneMask, kMostJoinPoints> waiting{}; // lanes, by join point
  std::array<uint64_t, kMostJoinPoints> waiting_ran{};
  // What the part remembers of its loops, where it is not what the running one does: a bit for each that has.
  uint64_t remembers = 0;
  std::array<Polling, kMostJoinPoints> polling;
  bool has_made_splits = false; // of parts that waited
  std::exception_ptr problem;   // thrown by what the code has called, for its caller

  void begin_part(uint64_t has_run, uint64_t began, uint64_t most, bool divided) {
    ran = has_run;
    part_begin = began;
    turn_end = most;
    is_divided = divided;
    has_made_splits = false;
    end = divided ? std::min(most, began + left_before_giving_way(has_run)) : most;
  }
};

} // namespace lemma::vgpu

// What compiled code keeps in an Exec while it runs. Plain data at fixed places: the code addresses it.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/code/code.h"

#include <array>
#include <cstdint>
#include <exception>

namespace lemma::vgpu {

// Parts of the warp that compiled code has told apart wait, each at the begin of a block of its unit, for the
// part that runs: the one with the lowest pc. Where the code returns they become splits.
inline constexpr uint32_t kMostJoinPoints = 64; // of a unit

struct CompiledState {
  uint64_t end = 0;                                // Exec::executed at which the slice ends
  uint64_t lanes = 0;                              // of what was executed, for the caller to count
  uint32_t meeting = ptx::kNone;                   // another split may join at this pc
  uint64_t waiting_at = 0;                         // a bit for each join point at which a part waits
  const uint32_t* join_pcs = nullptr;              // of the unit that runs, by join point
  std::array<LaneMask, kMostJoinPoints> waiting{}; // lanes, by join point
  std::exception_ptr problem;                      // thrown by what the code has called, for its caller
};

} // namespace lemma::vgpu

// What a part of a warp remembers of its backward jumps, so that a loop that only polls is told from one that
// computes: waiting.cc.
//
// Tests: tests/unit/vgpu/core_test.cc.
#pragma once

#include "ptx/module.h"

#include <cstdint>

namespace lemma::vgpu {

inline constexpr uint64_t kFirstSnapshot = 64; // backward jumps, before states are compared

// Plain data: compiled code copies it.
struct Polling {
  uint64_t backward_jumps = 0;           // since the last effect
  uint64_t snapshot = 0;                 // hash of the state at a backward jump
  uint64_t compare_until = 0;            // in backward jumps
  uint64_t quiet_until = kFirstSnapshot; // none of the backward jumps before that one has anything to do
  uint64_t effects_seen = 0;             // Warp::effects when backward_jumps was last reset
  uint32_t snapshot_pc = ptx::kNone;

  // Parts join: of the two, what has jumped more often stays, whichever comes first.
  void join(const Polling& other) {
    if (other.backward_jumps > backward_jumps)
      *this = other;
  }
};

} // namespace lemma::vgpu

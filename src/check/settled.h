// What a predicate is whenever a thread reads it, in the lanes in which that is always the same: one that is
// computed of the thread's place in the grid and of the kernel's parameters, or one of which such a one
// decides (a mask that the loop makes anew, and "thread 0").
//
// Not here: what is the same in all rounds of one loop alone.
//
// Tests: tests/unit/check/loaded_test.cc.
#pragma once

#include "vgpu/code/code.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace lemma::check {

// Lanes in which a predicate is false, and those in which it is true. In the others it is not known.
struct Settled {
  vgpu::LaneMask clear = 0, set = 0;

  static Settled as(vgpu::LaneMask value) { return {~value, value}; }
  Settled negated() const { return {set, clear}; }
};

class SettledPredicates {
public:
  explicit SettledPredicates(const vgpu::Code& code);
  // By its offset in the frame. The lanes have executed what makes it.
  Settled of(uint32_t predicate, const std::byte* registers) const { return of(predicate, registers, 0); }

private:
  static constexpr int kMostSteps = 8;
  Settled of(uint32_t predicate, const std::byte* registers, int steps) const;

  const vgpu::Code& code_;
  std::unordered_map<uint32_t, std::optional<uint32_t>>
      makers_; // by the predicate: the pc that makes it; none: several
};

} // namespace lemma::check

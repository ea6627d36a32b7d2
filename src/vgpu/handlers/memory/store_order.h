// Which value stays where several lanes of one store have the same address. The PTX ISA leaves it open; an
// H200 does always the same (tests/golden/asked/store_order.csv), in shared and in global memory, stmatrix
// too: a warp stores in turns of as many lanes as have 128 bytes together, the low lanes first - 32 lanes of
// 4 bytes and less, 16 of 8, 8 of 16 - and what a later turn stores stays; within a turn, what the lowest
// lane stores.
//
// Lanes that take their turns in for_lanes_as_stored()'s order leave just that.
//
// Tests: tests/unit/vgpu/store_order_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lemma::vgpu {

// Lanes that store at once, `bytes` each: a power of two.
constexpr uint32_t lanes_of_turn(uint32_t bytes) {
  constexpr uint32_t kTurnBytes = 128;
  return kTurnBytes / std::max(bytes, 4u);
}

// Where a lane stands in the order of stores. The lane of a place is store_place() of it, too.
constexpr uint32_t store_place(uint32_t lane, uint32_t bytes) {
  return lane ^ (lanes_of_turn(bytes) - 1);
}

// The lane of the mask, which is not empty, that stores last.
inline int last_to_store(LaneMask mask, uint32_t bytes) {
  const uint32_t turn = lanes_of_turn(bytes);
  const uint32_t first = static_cast<uint32_t>(31 - std::countl_zero(mask)) & ~(turn - 1);
  return static_cast<int>(first) + std::countr_zero(mask >> first);
}

// Calls f(lane) for every lane of the mask, the one whose value stays last.
template <class F>
inline void for_lanes_as_stored(LaneMask mask, uint32_t bytes, F&& f) {
  const uint32_t turn = lanes_of_turn(bytes);
  for (uint32_t first = 0; first < kWarpSize && mask >> first != 0; first += turn)
    for (LaneMask left = mask & kAllLanes >> (kWarpSize - turn) << first; left != 0;) {
      const int lane = 31 - std::countl_zero(left);
      left ^= LaneMask{1} << lane;
      f(lane);
    }
}

} // namespace lemma::vgpu

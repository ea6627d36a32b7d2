// The lanes of an access that are at the same place, together.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "vgpu/engine/observer.h"

#include <array>
#include <bit>
#include <cstdint>

namespace lemma::check {

using vgpu::LaneMask;

// The places of an access whose pieces are lanes, in the order of their first lanes.
class Places {
public:
  Places(const vgpu::WarpAccess& access, vgpu::LanesLie lie) {
    if (lie == vgpu::LanesLie::at_one_place) {
      count_ = 1;
      lanes_[0] = access.pieces;
      first_[0] = static_cast<uint8_t>(std::countr_zero(access.pieces));
    } else if (lie == vgpu::LanesLie::side_by_side) {
      vgpu::for_lanes(access.pieces, [&](int lane) {
        first_[count_] = static_cast<uint8_t>(lane);
        lanes_[count_++] = LaneMask{1} << lane;
      });
    } else {
      search(access);
    }
  }
  size_t count() const { return count_; }

  // Calls f(lanes, the first of them) for each place.
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i < count_; ++i)
      f(lanes_[i], static_cast<int>(first_[i]));
  }

private:
  void search(const vgpu::WarpAccess& access) {
    constexpr uint32_t kSlots = 64;
    std::array<uint8_t, kSlots> slots{}; // places, from 1 on, by their addresses
    vgpu::for_lanes(access.pieces, [&](int lane) {
      const uint64_t address = access.addresses[lane];
      uint64_t at = address * 0x9e3779b97f4a7c15u >> 58;
      while (slots[at] != 0 && access.addresses[first_[slots[at] - 1u]] != address)
        at = (at + 1) % kSlots;
      if (slots[at] == 0) {
        first_[count_] = static_cast<uint8_t>(lane);
        lanes_[count_] = 0;
        slots[at] = static_cast<uint8_t>(++count_);
      }
      lanes_[slots[at] - 1u] |= LaneMask{1} << lane;
    });
  }

  size_t count_ = 0;
  std::array<LaneMask, vgpu::kWarpSize> lanes_;
  std::array<uint8_t, vgpu::kWarpSize> first_;
};

// Whether lanes are likely to be at the same place: such are often neighbours, or half a warp or a quarter
// apart.
inline bool may_have_twins(const vgpu::WarpAccess& access) {
  const uint64_t* at = access.addresses;
  if (access.lie == vgpu::LanesLie::at_one_place || access.pieces != vgpu::kAllLanes)
    return true;
  bool has = at[0] == at[16] || at[0] == at[8] || at[0] == at[4] || at[0] == at[2];
  for (size_t lane = 0; lane + 1 < vgpu::kWarpSize; ++lane) // without a branch
    has |= at[lane] == at[lane + 1];
  return has;
}

// Whether its pieces, one a lane or row, lie side by side in that order, each as large as a power of two.
inline bool is_row(const vgpu::WarpAccess& access) {
  const int first = std::countr_zero(access.pieces);
  const LaneMask all = access.pieces >> first;
  if (!std::has_single_bit(access.piece_bytes) || (all & (all + 1)) != 0)
    return false;
  const uint64_t* at = access.addresses + first;
  const int count = std::bit_width(all);
  if (count > 1 && at[1] != at[0] + access.piece_bytes)
    return false;
  uint64_t differ = 0;
  for (int i = 0; i < count; ++i) // without a branch
    differ |= at[i] ^ (at[0] + static_cast<uint64_t>(i) * access.piece_bytes);
  return differ == 0;
}

} // namespace lemma::check

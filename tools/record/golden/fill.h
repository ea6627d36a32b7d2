// Small generators of input planes for hand-written cases: one function of the generator and the thread's
// index a plane.
//
// Tests: tests/unit/golden/.
#pragma once

#include "golden/case.h"
#include "golden/values.h"

namespace lemma::golden {

// What one element of a plane holds. `warp` is 32 numbers that all planes of a warp share: a random word and
// the random groups that its lanes belong to; see draw_warp().
struct WarpDraw {
  uint64_t word = 0;
  std::array<uint8_t, 32> group{};       // 0 .. 3
  uint32_t mask_of(uint32_t lane) const; // lanes of the lane's group
};
using Element = std::function<uint64_t(numeric::Random& random, const WarpDraw& warp, uint64_t thread)>;

// Threads of 32 in a warp, all parts alike. Planes with per_unit elements get as many calls.
std::function<void(const Part&, numeric::Random&, Inputs&)> fill_each(std::vector<Element> planes,
                                                                      std::vector<uint32_t> per_unit = {});

// Any bits; below a bound; the thread's group and its members.
Element any_bits();
Element below(uint64_t bound);
Element group_of_lane();
Element group_mask();
// Any value of the type's classes, mixed.
Element values(Values v);

} // namespace lemma::golden

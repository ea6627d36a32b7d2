// The fused rule on sixteen outputs of a tile at a time, with the host's vector instructions. The same bits
// as the scalar code of dot_fused.cc, which remains the reference and takes what this leaves.
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot.h"

#include <vector>

namespace lemma::numeric::internal {

enum class DotLevel : uint8_t {
  scalar,
  avx2,
  avx512, // F, BW, CD, DQ, VL
};

// Those that this host can run, lowest first.
const std::vector<DotLevel>& dot_levels();
// The level in force: the highest, unless set. For tests.
DotLevel dot_level();
void set_dot_level(DotLevel level);

// Writes the tile's result and returns true; or returns false, having written nothing, where the scalar code
// has to: no vector instructions; another scheme, format or tile than the usual ones; a NaN, an infinity, or
// a result below the normal numbers of f32.
bool dot_fused_lanes(const DotModel& model, const DotTile& tile);
// The same for DotScheme::integer.
bool dot_integer_lanes(const DotModel& model, const DotTile& tile);
// The same for DotScheme::fma_chain of f64 to nearest even, eight columns; a NaN is left to the scalar code.
bool dot_f64_lanes(const DotModel& model, const DotTile& tile);

} // namespace lemma::numeric::internal

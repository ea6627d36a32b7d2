// Exact sums of sixteen products of e2m1, each times its two scales, then the fused rule: the fast way, at
// every level of the host's vector instructions.
//
// Here: DotScheme::block_sums, dense and sparse, with scales of ue8m0 and ue4m3. Rows of eight outputs with a
// NaN, an infinity or a result below the normal numbers of f32 are left to dot_block_sums() (dot_fused.cc).
//
// Tests: tests/unit/numeric/dot_block_sums_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

// Writes the whole tile and adds its outputs to `paths`; or returns false, having written nothing, where the
// model, the tile or the host's level rule the fast way out altogether.
bool dot_block_sums_lanes(const DotModel& model, const DotTile& tile, MatrixOutputs& paths);

} // namespace lemma::numeric::internal

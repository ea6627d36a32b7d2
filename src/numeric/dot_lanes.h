// The fused rule on sixteen outputs of a tile at a time, with the host's vector instructions. The same bits
// as the scalar code of dot_fused.cc, which remains the reference and takes what this leaves.
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

// Writes all outputs and returns true; or returns false, having written nothing, where the scalar code
// has to: no vector instructions; another scheme, format or size than the usual ones; a NaN, an infinity, or
// a result below the normal numbers of f32.
bool dot_fused_lanes(const DotModel& model, const DotRows& rows);

} // namespace lemma::numeric::internal

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

// For DotScheme::block_sums.
std::shared_ptr<const DotWay> block_sums_way(const DotPlan& plan, DotLevel level);

} // namespace lemma::numeric::internal

// The fused rule by the host's f32 arithmetic: the fast way for ordinary numbers, at every level of the
// host's vector instructions.
//
// Here: f16, bf16, tf32 and the 8-bit containers, the last with scales of ue8m0 too, in products of any
// size; blocks that hold a NaN, an infinity, or numbers so large or small that f32 does not carry them
// exactly are left. Not here: sums of blocks (DotScheme::block_sums), integers (dot_integers.h).
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

inline constexpr int kMaxFloatK = 64;

// For DotScheme::fused and split_quad.
std::shared_ptr<const DotWay> float_way(const DotPlan& plan, DotLevel level);

} // namespace lemma::numeric::internal

// Chains of f64 fma (DotScheme::fma_chain, to nearest even) by the host's fma, eight columns at a time. It is
// IEEE's in all but the bits of a NaN: rows of eight outputs that have one are left to the scalar code.
//
// Tests: tests/unit/numeric/dot_test.cc, dot_chain_test.cc (every level that the host has, against the scalar
// code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

inline constexpr int kMaxF64K = 64;

// For DotScheme::fma_chain.
std::shared_ptr<const DotWay> f64_way(const DotPlan& plan, DotLevel level);

} // namespace lemma::numeric::internal

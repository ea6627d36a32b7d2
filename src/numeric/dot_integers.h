// Integer matrices by the host's dot-product instructions: AMX tiles, VNNI, or pairs of 16-bit products; all
// of them exact.
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

inline constexpr int kMaxIntegerK = 128;

// For DotScheme::integer, where K is a multiple of 4 and not too large; a sparse A that has no dense form is
// left, and so are sums of several steps that may saturate.
std::shared_ptr<const DotWay> integer_way(const DotPlan& plan, DotLevel level);

// For DotScheme::xor_popc and and_popc, dense and in rows.
std::shared_ptr<const DotWay> bit_way(const DotPlan& plan, DotLevel level);

// For those of integer_way() by AMX (dot_amx.cc), whatever the model says of saturation as integers that
// wrap: rows and columns in blocks of 16, or fewer rows, and K in blocks of at most 64. The tile's A is
// dense.
std::shared_ptr<const DotWay> amx_way(const DotPlan& plan, DotLevel level);

} // namespace lemma::numeric::internal

// Integer matrices by the host's dot-product instructions: AMX tiles, VNNI, or pairs of 16-bit products; all
// of them exact.
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

inline constexpr int kMaxIntegerK = 128;

// DotScheme::integer, dense. Writes the tile's result and returns true; or returns false, having written
// nothing, where the level has no loops or K is not a multiple of 4 or too large for them.
bool dot_integer_lanes(const DotModel& model, const DotTile& tile);

// `out` becomes the B of `dense` as those loops take it, if they would.
void arrange_integers(const DotModel& model, const DotTile& dense, ArrangedB::Content& out);

// DotScheme::xor_popc and and_popc, likewise.
bool dot_bit_lanes(const DotModel& model, const DotTile& tile);

// Integers by AMX (dot_amx.cc), for rows and columns in blocks of 16, or fewer rows, and K in blocks of at
// most 64. Needs DotLevel::amx.
bool dot_integer_tiles(const DotModel& model, const DotTile& tile);
bool arrange_integer_tiles(const DotModel& model, const DotTile& tile, ArrangedB::Content& out);

} // namespace lemma::numeric::internal

// The fused rule by the host's f32 arithmetic: the fast way for ordinary numbers, at every level of the
// host's vector instructions.
//
// Here: f16, bf16, tf32 and the 8-bit containers, the last with scales of ue8m0 too, in any tile; blocks of
// it that hold a NaN, an infinity, or numbers so large or small that f32 does not carry them exactly are
// left. Not here: sums of blocks (DotScheme::block_sums), integers (dot_integers.h).
//
// Tests: tests/unit/numeric/dot_test.cc (every level that the host has, against the scalar code).
#pragma once

#include "numeric/dot_internal.h"

namespace lemma::numeric::internal {

inline constexpr int kMaxFloatK = 64;

// `dense` is `tile`, with zeros in A where it is sparse. Writes the whole tile, `fallback` doing the blocks
// that are left; or returns false, having written nothing, where the model, the tile or the host's level rule
// the fast way out altogether.
bool dot_fused_floats(const DotModel& model, const DotTile& tile, const DotTile& dense, DotRun fallback,
                      MatrixOutputs& paths);

// `out` becomes the B of `dense` as those loops take it, if they would.
void arrange_floats(const DotModel& model, const DotTile& dense, int stored_k, ArrangedB::Content& out);

} // namespace lemma::numeric::internal

// Segments: the pieces of decoded code between which the part of a warp that runs may give way to others. A
// slice (warp.h) that has executed as many instructions as it may goes on to the end of its segment. So who
// runs one instruction after the other and who runs a segment as a whole stop at the same places.
//
// A segment begins with each basic block, behind what a warp may wait at, where a handler goes on that has
// done the work of several instructions, and at the latest after kMostInSegment instructions.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code/code.h"

namespace lemma::vgpu {

inline constexpr uint32_t kMostInSegment = 64;

// Sets DecodedInst::begins_segment in decoded code.
void cut_into_segments(Code& code, const lowered::Function& lowered);

} // namespace lemma::vgpu

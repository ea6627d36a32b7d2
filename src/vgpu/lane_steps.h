// By how much a register of one lane differs from that of the lane before it, where the rows of a block are
// whole warps: nothing where all lanes have the same, an element's size where it is the address of
// neighbouring elements.
//
// Sums of 32 bits wrap, and a compiler extends them to 64: `base + 4 * (i + tid.x)` has the step 4 unless
// i + tid.x wraps within the warp. A step is therefore a promise with a proviso: if the last lane's value is
// 31 steps from the first one's, each of them is a step from its neighbour's. That holds as long as no more
// than one number that may have wrapped is in a sum, since wrapped lanes follow those that are not.
//
// Tests: tests/unit/vgpu/launch_constants_test.cc.
#pragma once

#include "vgpu/code.h"

#include <optional>
#include <span>

namespace lemma::vgpu {

using LaneStep = std::optional<int64_t>; // none: not known

// The step of the result of `in`, one of a function of PTX, from those of its sources.
LaneStep step_of_result(const Code& code, const DecodedInst& in, std::span<const LaneStep> sources);

} // namespace lemma::vgpu

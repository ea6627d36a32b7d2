// Which wgmma operations a warp may leave for the other warps of its warpgroup to complete.
//
// An operation can execute once all four warps have issued it. A warp that has done so may go on to its
// commit_group, where the warps wait for each other - unless it touches the accumulators on the way: ptxas
// then makes code that waits for the operation at once, and so programs exist that do and are right. Or
// leaves the straight line: where it goes is not followed here. Then the warps wait for each other at the
// operation.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions". Tests: tests/unit/vgpu/wgmma_group_test.cc.
#pragma once

#include "vgpu/written.h"

#include <span>

namespace lemma::vgpu {

// DecodedInst::flags of a wgmma.mma_async: from it a straight line leads to a commit_group, and nothing on it
// but operations names its accumulators.
inline constexpr uint8_t kWgmmaDeferred = 1;

// Sets it where it is so. `ranges` is each block's place in the code.
void find_deferred_wgmma(Code& code, std::span<const PcRange> ranges);

} // namespace lemma::vgpu

// Which wgmma operations a warp may leave for the other warps of its warpgroup to complete.
//
// An operation can execute once all four warps have issued it. A warp that has done so may go on to its
// commit_group, where the warps wait for each other - unless it touches the accumulators on the way: ptxas
// then makes code that waits for the operation at once, and so programs exist that do and are right. Or
// leaves the straight line: where it goes is not followed here. Then the warps wait for each other at the
// operation.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
// Tests: tests/unit/lowered/wgmma_test.cc, tests/unit/vgpu/wgmma_group_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// Notes `deferred` where it is so.
void find_deferred_wgmma(Function& function);

} // namespace lemma::lowered

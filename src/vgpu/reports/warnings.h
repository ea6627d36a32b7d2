// What a launch says of what the PTX ISA leaves undefined and the hardware runs.
//
// Tests: tests/unit/vgpu/past_end_test.cc, wgmma_group_test.cc.
#pragma once

#include "vgpu/engine/launch.h"

namespace lemma::vgpu {

// Report::warnings of Launch::remarks: one for all instructions of which the same is to be said, in the order
// of the first ones.
void add_warnings(Launch& launch);

} // namespace lemma::vgpu

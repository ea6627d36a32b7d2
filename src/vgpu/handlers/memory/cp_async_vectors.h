// cp.async by the host's vectors: the copies of a whole warp of which all is well.
//
// Tests: tests/unit/vgpu/async_copy_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

// Copies DecodedInst::width bytes for each of the 32 lanes from source 1 plus `from` in global memory to
// source 0 plus DecodedInst::imm in shared memory. False, and nothing done, where it cannot say that all is
// well.
using CopyLanes = bool (*)(Exec& x, const DecodedInst& in, int64_t from);

// For copies of 4, 8 or 16 bytes; null: there is none at the level in force.
CopyLanes copy_lanes(uint32_t bytes);

} // namespace lemma::vgpu

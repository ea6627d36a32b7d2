// The groups of instructions that lowered/constants.h has found: a warp passes over those in loops that all
// of it has executed before, and over what the warp before it has left in the frame for the CTA. They count
// as executed.
//
// Tests: tests/unit/vgpu/launch_constants_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code/code.h"

namespace lemma::vgpu {

// In decoded code, when all else of its handlers is known: where the first of a group has a plan of its own,
// the group is not made.
void make_constant_groups(Code& code, const lowered::Function& lowered);

// Of what is known of lanes: are the rows of the block whole warps?
inline bool rows_are_warps(const Dim3& block) {
  return block[0] % kWarpSize == 0 || block[1] * block[2] == 1;
}

} // namespace lemma::vgpu

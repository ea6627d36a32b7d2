// Runs of mma.sync and wmma.mma that lowered/matrix_runs.h has found. The last instruction of a run
// multiplies for all; the others only count, once the first has seen that nobody watches. So a warp may be
// interrupted anywhere in a run. Where somebody watches, each instruction does its own.
//
// Tests: tests/unit/vgpu/mma_runs_test.cc, left_loads_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code/code.h"

namespace lemma::vgpu {

// In decoded code.
void make_matrix_runs(Code& code, const lowered::Function& lowered);

} // namespace lemma::vgpu

// Whether a module is what Triton makes of a kernel: the source of such has no CTAs and threads, but
// programs.
//
// PTX does not say so; known is it by what Triton 3.4 to 3.9 declare: parameters by number, the last two of
// them pointers to scratch memory, and a CTA of one dimension.
//
// Tests: tests/unit/ptx/triton_test.cc.
#pragma once

#include "ptx/module.h"

namespace lemma::ptx {

// tl.program_id(0), (1), (2) are the CTA's index in the grid. Not so where a program is a cluster (num_ctas).
bool has_triton_programs(const Module& module);

} // namespace lemma::ptx

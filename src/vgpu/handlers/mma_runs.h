// Runs of mma.sync and wmma.mma: instructions that share A or B become one larger product; one that is alone
// too, where the loops take its operands from the registers. Others may stand between, such as the loads of
// the next A and B.
//
// A product of 64 rows and columns decodes its operands once, and its loops are under way: it takes less than
// half of the time of 32 products of 16 rows and 8 columns. Those that add to the results of others, as steps
// along K do, make it deeper (numeric::chainable()), and what only the next step reads is never written. The
// last instruction of a run multiplies for all; the others only count, once the first has seen that nobody
// watches. So a warp may be interrupted anywhere in a run. Where somebody watches, each instruction does its
// own.
//
// Bits are the same: an output is computed by the same rule from the same operands, and none is read within
// its run but as the accumulator of its next step.
//
// Tests: tests/unit/vgpu/mma_runs_test.cc.
#pragma once

#include "vgpu/written.h"

#include <span>
#include <vector>

namespace lemma::vgpu {

// Finds them in decoded code, once what it reads before it writes is known.
void find_mma_runs(Code& code, std::span<const lowered::Block> blocks);

// Of runs in loops: where all that stands before the last instruction is others of the run, loads that leave
// what they load in memory (left_loads.h), and launch constants, a warp that has executed it once goes from
// the first load to the last product.
void settle_mma_runs(Code& code, const lowered::Function& lowered);

} // namespace lemma::vgpu

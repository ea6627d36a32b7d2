// Runs of mma.sync and wmma.mma: instructions that share A or B become one larger product; one that is alone
// too, where the loops take its operands from the registers. Others may stand between, such as the loads of
// the next A and B.
//
// A product of 64 rows and columns decodes its operands once, and its loops are under way: it takes less than
// half of the time of 32 products of 16 rows and 8 columns. Those that add to the results of others, as steps
// along K do, make it deeper (numeric::chainable()), and what only the next step reads is never written.
//
// Bits are the same: an output is computed by the same rule from the same operands, and none is read within
// its run but as the accumulator of its next step.
//
// Where memory cannot change between the loads of a run's fragments (of f64) and its products, and nobody but
// these reads the fragments, the products may read them in memory: to write registers and read them again
// takes a product of f64 longer than to multiply. And in a loop, where nothing but such loads, constants of
// the launch and the run itself stands there, a warp that has executed all of it once may go from the first
// load to the last product.
//
// Tests: tests/unit/lowered/matrix_runs_test.cc, tests/unit/vgpu/mma_runs_test.cc, left_loads_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// Of a product: chains of fragments of A, and of B, and the steps of a chain.
inline constexpr size_t kMostChainsOfA = 8, kMostChainsOfB = 16, kMostSteps = 8;

// After find_launch_constants(). Sets Function::matrix_runs, notes `left` of loads.
void find_matrix_runs(Function& function);

} // namespace lemma::lowered

// Stretches of a function that can come round, and which registers hold clocks: whether a loop that polls has
// come round in the same state is asked of what it can change, but for its clocks.
//
// Values of clocks are followed through registers only. What depends on a clock by way of a predicate - a
// count of the times that a millisecond has passed - changes only now and then, and then the loop is in
// another state.
//
// Tests: tests/unit/lowered/loops_test.cc, tests/unit/vgpu/polling_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// Sets Function::loops. A function that has a branch table, which may lead anywhere, or a wgmma, which writes
// its registers at any time, has no loops here.
void find_loops(Function& function);

// The outermost loop around an instruction; null: there is none.
const Range* loop_around(const Function& function, uint32_t inst);

// Sets Register::holds_clock: of a register that holds one somewhere, everywhere.
void find_clocks(Function& function);

} // namespace lemma::lowered

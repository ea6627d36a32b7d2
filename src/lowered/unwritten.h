// Which reads may see a register that was never written. Most registers are provably written before every
// read, so that nobody need ask; for the others who executes the program keeps a mask of lanes and asks at
// run time.
//
// Tests: tests/unit/lowered/unwritten_test.cc, tests/unit/vgpu/unwritten_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// Notes reads_unwritten, updates_unwritten and marks_written of instructions, is_asked and is_carried of
// registers. Components of a vector register are asked together.
void find_unwritten_reads(Function& function);

// ld and ldu move registers from memory as they are.
bool is_load(const Function& function, const Inst& inst);

} // namespace lemma::lowered

// A load and the store behind it of what was loaded, which nobody else reads: who executes them may copy from
// memory to memory, and leave the registers alone.
//
// Tests: tests/unit/lowered/copies_test.cc, tests/unit/vgpu/copies_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// After find_unwritten_reads(). Notes `copy` of the loads.
void find_copies(Function& function);

} // namespace lemma::lowered

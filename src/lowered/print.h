// The lowered program as text, for people and tests: docs/virtual-gpu.md says how to read it.
//
// Tests: tests/unit/lowered/lower_test.cc.
#pragma once

#include "lowered/program.h"

#include <string>

namespace lemma::lowered {

// Whole lines: the function's name, then its blocks, an instruction a line.
std::string print(const Function& function);
// One instruction, without an end of line: "%r3 = mad.lo.s32 t0, t1, %r2".
std::string print(const Function& function, const Inst& inst);

} // namespace lemma::lowered

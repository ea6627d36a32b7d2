// From a typed PTX function to the lowered program: operands are resolved, blocks laid out.
//
// Tests: tests/unit/lowered/lower_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// The function has a body, of a module that has passed verify(). An instruction that is not understood (of a
// later PTX version) keeps its place, without operands. `sm`: the machine, 90.
Function lower(const ptx::Module& module, const ptx::Function& text, int sm);

} // namespace lemma::lowered

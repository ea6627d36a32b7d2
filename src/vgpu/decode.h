// Decodes one function: lays out its frame and its blocks, lets each instruction's selector place its
// operands, and finds which reads need a check that the register was written.
//
// Tests: tests/unit/vgpu/decode_test.cc.
#pragma once

#include "vgpu/program.h"

namespace lemma::vgpu {

// Fills `code`, whose function has a body. Never fails: what is not modelled decodes to an instruction that
// says so when it is reached.
void decode_function(Program& program, Code& code);

} // namespace lemma::vgpu

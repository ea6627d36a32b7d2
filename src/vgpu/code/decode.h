// Decodes one function: lays out its frame and its blocks, lets each instruction's selector place its
// operands, and finds which reads need a check that the register was written.
//
// Tests: tests/unit/vgpu/core_test.cc, operands_test.cc.
#pragma once

#include "vgpu/code/program.h"

#include <optional>

namespace lemma::vgpu {

// Fills `code`, whose function has a body. What is not modelled decodes to an instruction that says so when
// it is reached; a diagnostic means that the function's variables or registers are too large.
std::optional<Diagnostic> decode_function(Program& program, Code& code);

} // namespace lemma::vgpu

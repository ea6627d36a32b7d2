// The static rules of PTX over a typed module: would the assembler accept it?
//
// Checked: operands against the form (count, kind, type, vector length, immediate range, state space), the
// module's target and PTX version against what each instruction, register and directive needs, alignment and
// size limits of variables, call arguments against the callee, launch bounds. The assembler is the measure:
// where it is more lenient or stricter than the manual, so is this. Not checked: what only execution shows
// (addresses, divergence around .aligned, races; but see lint.h).
//
// Linear in the module's size. Never fails on a module that parsed without error.
//
// Tests: tests/verify (one bad file a rule with an accepted twin; mutations compared with ptxas).
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"

namespace lemma::verify {

// In the order of the text. Empty, or warnings only: the assembler would accept the module.
Diagnostics verify(const ptx::Module& module);

// Why the GPU sm_<sm> cannot run the module, which is legal for its own target: its target is of other
// machines, and these of its instructions are (at most three are named). Empty: it can. A module without
// a target runs anywhere.
Diagnostics refuse_on_machine(const ptx::Module& module, int sm);

} // namespace lemma::verify

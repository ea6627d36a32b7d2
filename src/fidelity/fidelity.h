// How well the bits of an instruction are known, on the machine that the virtual GPU is: for the report of a
// launch (Report::forms).
//
// No fact is stated here that another place has: how matrix products are known is numeric::DotModel's,
// whether a machine's approximate functions have been asked isa::Machine's, what of hardware is recorded
// recorded.h's. What is stated: which values the PTX ISA leaves to the machine and nobody models, such as
// clocks.
//
// Tests: tests/unit/fidelity/, tests/cli/watch_cli_test.py.
#pragma once

#include "lemma/report.h"
#include "numeric/arch.h"
#include "ptx/module.h"

#include <string>

namespace lemma::fidelity {

// In the words of a report.
Fidelity fidelity_of(numeric::Evidence evidence);

struct Known {
  std::string form; // "add.rn.f32", "mov.u64 %clock64"
  Fidelity fidelity = Fidelity::exact;
  std::string evidence; // ExecutedForm::evidence
};

// `sm`: 90, a machine that is modelled.
Known how_known(const ptx::Instruction& instruction, int sm);

} // namespace lemma::fidelity

// Which forms of instructions a real GPU has been asked about: the recorded cases of tests/golden that
// execute them. Counted when Lemma is built (tools/record/record_index.cc), so that the library
// knows them wherever it is installed.
//
// Tests: tests/unit/fidelity/, tests/unit/inspect/.
#pragma once

#include "isa/catalogue.h"
#include "isa/form.h"
#include "lemma/isa.h"

namespace lemma::fidelity {

// Of a row: the cases whose kernels contain one of its spellings.
HardwareCheck checked_on_hardware(const isa::MatrixRow& row);
// Of any other form: the cases named by one of its spellings.
HardwareCheck checked_on_hardware(const isa::Form& form);

} // namespace lemma::fidelity

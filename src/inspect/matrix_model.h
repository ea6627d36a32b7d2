// The arithmetic of a named matrix instruction on a machine, and how it reads.
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "inspect/matrix_name.h"

#include "numeric/dot.h"

#include <optional>
#include <string>

namespace lemma::inspect {

// Has the machine of a target, sm_90's as much as sm_90a's, the instruction?
bool is_in(const MatrixName& name, isa::Target target);

// None: the machine has no such instruction, or it moves data only.
std::optional<numeric::DotModel> model_of(const MatrixName& name, numeric::Arch arch);

// "exact products, cut to 25 fraction bits, all of K at once; rounded toward zero".
std::string describe(const numeric::DotModel& model, int k);

// Of one output: the columns of A that are stored.
int products_of(const isa::MatrixRow& row);

} // namespace lemma::inspect

// Instructions of tcgen05 as public data: the products in lists, and each instruction explained - who holds
// what in tensor memory, and the registers of tcgen05.ld and st.
//
// Tests: tests/unit/inspect/tensor_test.cc, tests/cli/.
#pragma once

#include "inspect/tensor_name.h"
#include "lemma/isa.h"

#include <string_view>

namespace lemma::inspect {

MatrixInstruction tensor_instruction_of(const TensorFamily& family);

// As describe_matrix(), of names that begin with kTensorPrefix.
Result<MatrixDescription, Error> describe_tensor(std::string_view name);

} // namespace lemma::inspect

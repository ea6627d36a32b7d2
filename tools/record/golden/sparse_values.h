// Generated metadata of sparse matrices: legal, whatever lanes hold it, so that registers which the sparsity
// selector leaves out differ from the ones it chooses and nothing but that.
//
// Tests: tests/unit/golden/.
#pragma once

#include "golden/matrix_values.h"

namespace lemma::golden {

// A register: eight chunks of A's elements of so many bits. `ordered`: indices rise.
uint64_t make_metadata(int element_bits, bool ordered, numeric::Random& random);

// What is to cancel are neighbours in a sparse A, which meet any two of four neighbours of B: those four
// become the same.
void pair_for_sparse(MatrixOperands& operands);

} // namespace lemma::golden

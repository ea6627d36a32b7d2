// Elements of PTX types in arrays and matrices of bits (lemma/mma.h), by type.
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "isa/vocabulary.h"
#include "lemma/mma.h"

#include <cstddef>
#include <vector>

namespace lemma::inspect {

// Of either sign.
bool is_zero(isa::Type type, uint64_t bits);

// As numeric::DotPlan wants matrices in rows: row after row, K contiguous in both multiplicands.
std::vector<std::byte> packed(const BitMatrix& matrix, isa::Type type, bool transposed);

} // namespace lemma::inspect

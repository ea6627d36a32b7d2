// One instruction explained, as text and as JSON.
//
// Tests: tests/cli/.
#pragma once

#include "matrix_name.h"

#include "numeric/mufu.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace lemma::cli {

// Operands, registers, layout, targets, arithmetic; lines of at most 120 characters.
std::string explanation(const MatrixName& name);
nlohmann::json explained(const MatrixName& name);

// The approximate functions among a form's spellings.
std::vector<numeric::Mufu> approximate_functions(const isa::Form& form);

// An entry of a list.
nlohmann::json summary(const isa::MatrixRow& row);
nlohmann::json summary(const isa::Form& form);

// "row = lane / 4 + 8 * (r % 2)": a coordinate of the element e of register r, as the fragment's modes give
// it.
std::string row_formula(const layout::Fragment& fragment);
std::string col_formula(const layout::Fragment& fragment);

} // namespace lemma::cli

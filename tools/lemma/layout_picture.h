// What `lemma layout` shows: fragments of matrix instructions, operands in tensor memory, and tiles in shared
// memory, as pictures and as JSON.
//
// Tests: tests/cli/.
#pragma once

#include "draw.h"

#include "lemma/isa.h"
#include "lemma/layout.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace lemma::cli {

// One operand, or several as in the product: B above D, A to the left of D.
Picture picture_of(const MatrixDescription& description, const std::vector<MatrixOperand>& operands);
// {"operand", "type", "rows", "cols", ..., "elements": [{"row", "col", "lane", "register", "bits": [0,
// 15]}]}; in tensor memory "column" for "register".
nlohmann::json elements_of(const MatrixOperand& operand);

Picture picture_of(const SmemTile& tile, const SmemLayout& layout);
nlohmann::json facts_of(const SmemTile& tile, const SmemLayout& layout);

} // namespace lemma::cli

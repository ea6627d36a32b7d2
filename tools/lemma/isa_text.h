// Instructions as text and as JSON.
//
// Tests: tests/cli/.
#pragma once

#include "lemma/isa.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace lemma::cli {

// Operands, registers, layout, targets, arithmetic; lines of at most 120 characters.
std::string explanation(const MatrixDescription& description);
nlohmann::json explained(const MatrixDescription& description);

// An entry of a list.
nlohmann::json summary(const MatrixInstruction& instruction);
nlohmann::json summary(const InstructionForm& form);

// "H200, 4 cases"; "not checked on hardware".
std::string to_string(const HardwareCheck& checked);

} // namespace lemma::cli

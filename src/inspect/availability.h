// What both kinds of instructions, those of matrices and all others, say of where they run.
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "isa/form.h"
#include "lemma/isa.h"

#include <optional>
#include <span>
#include <string>

namespace lemma::inspect {

Availability availability_of(const isa::Form& form);

// A word that is spelled as a target and is none: what there is.
std::optional<Error> refuse_unknown_targets(std::span<const std::string> words);

// An error of the caller.
Unexpected<Error> wrong(std::string text);

} // namespace lemma::inspect

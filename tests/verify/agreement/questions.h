// Questions to ask parser and verifier and the assembler: instructions made from the rows, and with a word of
// the opcode's vocabulary more, without one of their own, or with one exchanged.
#pragma once

#include "generate/sampler.h"

#include <string>
#include <vector>

namespace lemma::verify_test {

struct Question {
  generate::Text text;
  std::string change; // "with .relu", "without .rn", ".f16 for .f32"; empty: as the row has it
};

// For an opcode, `count` at most of each of them: as the rows have it, and changed.
std::vector<Question> questions_about(isa::Opcode opcode, size_t count, generate::Rng& rng);

} // namespace lemma::verify_test

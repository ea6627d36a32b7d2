// Instruction forms: one row states what the assembler accepts for one spelling pattern, and every reader (parser,
// verifier, virtual GPU, docs) takes its facts from the row.
//
// A row is written in the notation of the PTX ISA's own syntax blocks:
//     add{.rnd}{.ftz}{.sat}.f32  d, a, b      rnd = .rn .rz .rm .rp
// and read at start-up into slots. The assembler treats qualifiers nearly as a set: types keep their order, other
// classes come in any order. match() accepts that and says so.
//
// Tests: tests/unit/isa/.
#pragma once

#include "isa/vocabulary.h"
#include "support/diagnostic.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lemma::isa {

// All forms, in table order; and those of one opcode.
std::span<const Form> forms();
std::span<const Form* const> forms_of(Opcode opcode);

// One dotted word of an instruction as written: "add", "rn", "f32".
struct Word {
  std::string_view text;
  SourceRange range;
};

struct Match {
  // Every form whose qualifiers fit, most specific first; never empty. Operands decide among them (src/verify).
  std::vector<const Form*> forms;
  Opcode opcode = Opcode::none;
  std::vector<Qual> quals; // in the first form's order
  std::vector<Type> types; // as written
  Diagnostics warnings;    // qualifiers out of the ISA's order, or repeated
};

// Resolves opcode and qualifiers; the diagnostic names the word that fits no form and what would.
Result<Match, Diagnostic> match(std::span<const Word> words);

} // namespace lemma::isa

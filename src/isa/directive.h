// Directives, attributes and pragmas: since when, on which targets and where each may stand, one row each
// (directives.def).
//
// Not here: how they read (src/ptx), and what they need of each other (verify/directives.cc).
//
// PTX ISA: "Directives", "Descriptions of pragma Strings". Tests: tests/unit/isa/directive_test.cc,
// tests/verify/agreement.
#pragma once

#include "isa/target.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lemma::isa {

// Where a directive stands: at module scope, in the head of an .entry or a .func, in a prototype, in a body
// (of an entry), at a variable.
enum DirectivePlace : uint8_t {
  kModule = 1,
  kEntry = 2,
  kFunction = 4,
  kPrototype = 8,
  kFunctionBody = 16,
  kEntryBody = 32,
  kVariable = 64,
  kBody = kFunctionBody | kEntryBody,
};

struct Directive {
  enum class Kind : uint8_t { word, part, pragma };
  Kind kind = Kind::word;
  std::string_view name; // ".maxntid"; "inlined_at"; "nounroll"
  uint8_t places = 0;    // of DirectivePlace
  IsaVersion since;
  IsaVersion until; // the last version that has it; 0.0: all from `since` on
  TargetSet targets;
  std::string_view section; // anchor in the PTX ISA document, without #
};

std::span<const Directive> directives();

// The row of a word, a part or of a pragma by its string ("used_bytes_mask 0xff"); null: it has none, and has
// been there always (or, a pragma, is one that the assembler passes over).
const Directive* find_directive(Directive::Kind kind, std::string_view text);

// "the head of an .entry, a body"
std::string names_of_places(uint8_t places);

} // namespace lemma::isa

// One spelling of an instruction, bound to one form: which words it has, in which slots. Made once, when the
// text is read; who wants to know what an instruction says asks its binding, and instructions of one spelling
// share it.
//
// Tests: tests/unit/isa/form_test.cc, tests/unit/ptx/operand_test.cc.
#pragma once

#include "isa/vocabulary.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lemma::isa {

struct Form;
struct Match;

inline constexpr int kMaxSlots = 24;

struct Binding {
  const Form* form = nullptr;              // null only of kUnbound
  std::array<uint16_t, kMaxSlots> value{}; // of each slot: a Qual or a Type as a number, 0 for an absent one
  std::vector<Qual> quals;                 // in the form's order, types not included
  std::vector<Type> types;                 // in the order written: D A B C for matrix forms
  bool has_needs = false;                  // need_of() knows one of the words
  const Match* match = nullptr; // of a MatchCache: has the bindings of the same words to other forms

  Qual qual(int slot) const { return slot < 0 ? Qual::none : static_cast<Qual>(value[slot]); }
  Type type(int slot) const { return slot < 0 ? Type::none : static_cast<Type>(value[slot]); }
};

// What an instruction has that no text was read for, and one that nobody understands.
inline const Binding kUnbound;

// Nothing when the words do not fit the form.
std::optional<Binding> bind(const Form& form, std::span<const Qual> quals, std::span<const Type> types);

// Whether a word is missing that only the assembler does without (Slot::may_lack).
bool lacks_a_word(const Binding& binding);

// The words of a binding in the ISA's order: "add.rn.f32"; none of kUnbound.
std::string spelling_of(const Binding& binding);

// The state space that a qualifier names; none if it names none. The one place that knows: .shared is
// .shared::cta, .param::entry and .param::func are .param.
constexpr std::optional<StateSpace> space_of(Qual qual) {
  switch (qual) {
  case Qual::const_:
    return StateSpace::const_;
  case Qual::global:
    return StateSpace::global;
  case Qual::local:
    return StateSpace::local;
  case Qual::param:
  case Qual::param_entry:
  case Qual::param_func:
    return StateSpace::param;
  case Qual::shared:
  case Qual::shared_cta:
    return StateSpace::shared;
  case Qual::shared_cluster:
    return StateSpace::shared_cluster;
  default:
    return std::nullopt;
  }
}

// The first state space among the words; generic if there is none.
inline StateSpace space_of(const Binding& binding) {
  for (const Qual qual : binding.quals)
    if (const auto space = space_of(qual))
      return *space;
  return StateSpace::generic;
}

} // namespace lemma::isa

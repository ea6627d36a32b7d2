// The spellings of an instruction form: every way to fill its slots.
//
// Tests: tests/unit/golden/.
#pragma once

#include "isa/form.h"

#include <functional>

namespace lemma::golden {

struct Spelling {
  const isa::Form* form = nullptr;
  isa::Binding binding;
  std::string text; // "add.rn.ftz.f32"

  bool has(isa::Qual qual) const;
  std::vector<isa::Type> types() const; // as written
};

// Whether the recorded target, with its PTX version, has the form.
bool on_golden_target(const isa::Form& form);

// `wanted` says which qualifiers may be chosen; null: all.
std::vector<Spelling> spellings_of(const isa::Form& form,
                                   const std::function<bool(isa::Qual)>& wanted = nullptr);

// The type of an operand, before it is widened.
isa::Type type_of(const Spelling& spelling, const isa::OperandSpec& spec);

} // namespace lemma::golden

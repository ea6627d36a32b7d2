// Every spelling of every arithmetic form that sm_90a has finds a handler, but those listed here.
#include "arithmetic_fixture.h"

#include "isa/form.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

using isa::Form;
using isa::Opcode;
using isa::Qual;
using isa::Type;

// Legal for the assembler, and not executed, because the ISA gives it no meaning: directed rounding of
// fma.bf16 (ptxas makes f16 code of it, or drops the rounding), testp without a test.
bool is_modelled(const ptx::Instruction& instruction) {
  const Type type = instruction.type();
  if (instruction.opcode == Opcode::fma && (type == Type::bf16 || type == Type::bf16x2) &&
      !instruction.has(Qual::rn))
    return false;
  return instruction.opcode != Opcode::testp || !instruction.quals().empty();
}

struct Words {
  std::vector<Qual> quals;
  std::vector<Type> types;
};

// Chooses an alternative for every slot from `slot` on.
void for_spellings(const Form& form, size_t slot, Words& words,
                   const std::function<void(const isa::Binding&)>& f) {
  if (slot == form.slots.size()) {
    if (const auto binding = isa::bind(form, words.quals, words.types))
      f(*binding);
    return;
  }
  const isa::Slot& s = form.slots[slot];
  if (s.optional)
    for_spellings(form, slot + 1, words, f);
  for (const Qual q : s.quals) {
    words.quals.push_back(q);
    for_spellings(form, slot + 1, words, f);
    words.quals.pop_back();
  }
  for (const Type t : s.types) {
    words.types.push_back(t);
    for_spellings(form, slot + 1, words, f);
    words.types.pop_back();
  }
}

// The spellings of an opcode that sm_90a has: how many a kernel takes, and those that one should take and
// none does, or the other way round.
struct Taken {
  size_t spellings = 0;
  size_t taken = 0;
  std::vector<std::string> wrong;
};

Taken taken_of(Opcode opcode) {
  Taken result;
  for (const Form* form : isa::forms_of(opcode)) {
    if (!isa::is_available(*form, {9, 0}, {90, 'a'}))
      continue;
    ptx::Instruction instruction;
    instruction.opcode = opcode;
    instruction.operands = ptx::Operands(form->operands.size());
    Words words;
    for_spellings(*form, 0, words, [&](const isa::Binding& binding) {
      instruction.binding = &binding;
      Selection selection;
      const bool taken = pick_arithmetic(instruction, selection);
      ++result.spellings;
      result.taken += taken;
      if (taken != is_modelled(instruction))
        result.wrong.push_back(isa::spelling_of(binding));
    });
  }
  return result;
}

// Of an opcode that has a kernel at all; tests/verify/executes_test.cc is about all others.
TEST(ArithmeticForms, EverySpellingHasAHandler) {
  size_t opcodes = 0, spellings = 0;
  for (int i = 1; i < isa::kOpcodeCount; ++i) {
    const Taken taken = taken_of(static_cast<Opcode>(i));
    if (taken.taken == 0)
      continue;
    ++opcodes;
    spellings += taken.spellings;
    for (const std::string& spelling : taken.wrong)
      ADD_FAILURE() << spelling;
  }
  EXPECT_GT(opcodes, 70u);
  EXPECT_GT(spellings, 4000u);
}

} // namespace
} // namespace lemma::vgpu

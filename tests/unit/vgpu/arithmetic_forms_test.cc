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

constexpr Opcode kOpcodes[] = {
    Opcode::vadd,      Opcode::vsub,      Opcode::vabsdiff, Opcode::vmin,  Opcode::vmax,     Opcode::vshl,
    Opcode::vshr,      Opcode::vmad,      Opcode::vset,     Opcode::vadd2, Opcode::vsub2,    Opcode::vavrg2,
    Opcode::vabsdiff2, Opcode::vmin2,     Opcode::vmax2,    Opcode::vset2, Opcode::vadd4,    Opcode::vsub4,
    Opcode::vavrg4,    Opcode::vabsdiff4, Opcode::vmin4,    Opcode::vmax4, Opcode::vset4,    Opcode::abs,
    Opcode::add,       Opcode::addc,      Opcode::and_,     Opcode::bfe,   Opcode::bfi,      Opcode::bfind,
    Opcode::bmsk,      Opcode::brev,      Opcode::clz,      Opcode::cnot,  Opcode::copysign, Opcode::cos,
    Opcode::cvt,       Opcode::cvt_pack,  Opcode::div,      Opcode::dp2a,  Opcode::dp4a,     Opcode::ex2,
    Opcode::fma,       Opcode::fns,       Opcode::lg2,      Opcode::lop3,  Opcode::mad,      Opcode::mad24,
    Opcode::madc,      Opcode::max,       Opcode::min,      Opcode::mul,   Opcode::mul24,    Opcode::neg,
    Opcode::not_,      Opcode::or_,       Opcode::popc,     Opcode::prmt,  Opcode::rcp,      Opcode::rem,
    Opcode::rsqrt,     Opcode::sad,       Opcode::selp,     Opcode::set,   Opcode::setp,     Opcode::shf,
    Opcode::shl,       Opcode::shr,       Opcode::sin,      Opcode::slct,  Opcode::sqrt,     Opcode::sub,
    Opcode::subc,      Opcode::szext,     Opcode::tanh,     Opcode::testp, Opcode::xor_};

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

TEST(ArithmeticForms, EverySpellingHasAHandler) {
  size_t spellings = 0;
  for (const Opcode opcode : kOpcodes) {
    size_t of_opcode = 0;
    for (const Form* form : isa::forms_of(opcode)) {
      if (!isa::is_available(*form, {9, 0}, {90, 'a'}))
        continue;
      ptx::Instruction instruction;
      instruction.opcode = opcode;
      instruction.operands.resize(form->operands.size());
      Words words;
      for_spellings(*form, 0, words, [&](const isa::Binding& binding) {
        ++of_opcode;
        instruction.binding = &binding;
        Selection selection;
        EXPECT_EQ(pick_arithmetic(instruction, selection), is_modelled(instruction))
            << isa::spelling_of(binding);
      });
    }
    EXPECT_GT(of_opcode, 0u) << isa::to_string(opcode);
    spellings += of_opcode;
  }
  EXPECT_GT(spellings, 4000u);
}

} // namespace
} // namespace lemma::vgpu

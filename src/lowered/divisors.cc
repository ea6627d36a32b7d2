// Which divisors are constants, values.h says.
#include "lowered/divisors.h"

#include "lowered/values.h"

#include <algorithm>

namespace lemma::lowered {
namespace {

bool is_division(const Function& function, const Inst& inst) {
  const ptx::Instruction* instruction = function.instruction_of(inst);
  return instruction && instruction->opcode == isa::Opcode::div && inst.count == 3;
}

} // namespace

void find_constant_divisors(Function& function) {
  const auto divides = [&](const Inst& inst) { return is_division(function, inst); };
  if (std::ranges::none_of(function.insts, divides))
    return;
  const Values values(function);
  for (Inst& inst : function.insts)
    if (divides(inst) && values.of(function.sources_of(inst)[1]).is_constant)
      inst.notes.add(Note::constant_divisor);
}

} // namespace lemma::lowered

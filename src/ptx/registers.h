// Which registers an instruction reads and writes, by its form.
//
// Tests: tests/verify/fusion_test.cc, tests/unit/vgpu/approximate_test.cc.
#pragma once

#include "isa/effects.h"
#include "isa/form.h"
#include "ptx/module.h"

namespace lemma::ptx {

// 1 if the first operand is written, else 0.
inline size_t first_source(const Instruction& instruction) {
  return !instruction.operands.empty() && !instruction.form()->operands.empty() &&
         instruction.form()->operands[0].written;
}

// f(register, only a component of it) for each register of an operand.
template <class F>
void for_each_register(const Operand& operand, F f) {
  if (operand.kind == OperandKind::reg)
    f(operand.reg, operand.component >= 0);
  for (const Operand& element : operand.elems)
    for_each_register(element, f);
}

// f(register) for each that the instruction writes; of a call its results, which are no first operand.
template <class F>
void for_each_written(const Instruction& instruction, F f) {
  const bool is_call = isa::effects_of(instruction.opcode).has(isa::effect::calls);
  if (is_call ? instruction.operands.size() > 1 : first_source(instruction) == 1)
    for_each_register(instruction.operands[is_call], [&](uint32_t reg, bool) { f(reg); });
}

// f(register, index of the operand) for each that it reads, its guard left out.
template <class F>
void for_each_read(const Instruction& instruction, F f) {
  const bool is_call = isa::effects_of(instruction.opcode).has(isa::effect::calls);
  for (size_t i = first_source(instruction); i < instruction.operands.size(); ++i)
    if (!is_call || i != 1)
      for_each_register(instruction.operands[i], [&](uint32_t reg, bool) { f(reg, i); });
}

} // namespace lemma::ptx

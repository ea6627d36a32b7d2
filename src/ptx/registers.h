// Which registers an instruction reads and writes, by its form.
//
// Tests: tests/verify/fusion_test.cc, tests/unit/vgpu/approximate_test.cc.
#pragma once

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

} // namespace lemma::ptx

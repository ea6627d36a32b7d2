// Basic blocks of a function, which of them may run after which, and the instructions that compute nothing
// that anybody reads.
//
// Blocks are numbered in the order of the text. What may run after a block is known as a bound: no block
// before `after[b]`. So a register's value reaches a later use at most if it does so here, and all of it is
// linear in the function's size.
//
// Tests: tests/verify/fusion_test.cc.
#pragma once

#include "isa/form.h"
#include "ptx/module.h"

#include <cstdint>
#include <vector>

namespace lemma::verify {

struct Blocks {
  std::vector<uint32_t> begins; // and at the end the number of instructions
  std::vector<uint32_t> after;  // the first block that may run some time after this one; count(): none
  uint32_t count() const { return static_cast<uint32_t>(begins.size() - 1); }
};
Blocks find_blocks(const ptx::Function& function);

// Of each instruction whether nobody reads what it computes, and it does nothing else.
std::vector<bool> find_dead_code(const ptx::Function& function, const Blocks& blocks);

// 1 if the first operand is written, else 0.
inline size_t first_source(const ptx::Instruction& instruction) {
  return !instruction.operands.empty() && !instruction.form->operands.empty() &&
         instruction.form->operands[0].written;
}

// f(register, only a component of it) for each register of an operand.
template <class F>
void for_each_register(const ptx::Operand& operand, F f) {
  if (operand.kind == ptx::OperandKind::reg)
    f(operand.reg, operand.component >= 0);
  for (const ptx::Operand& element : operand.elems)
    for_each_register(element, f);
}

} // namespace lemma::verify

// Basic blocks of a function, which of them may run after which, and the instructions that compute nothing
// that anybody reads.
//
// Blocks are numbered in the order of the text. What may run after a block is known as a bound: no block
// before `after[b]`. So a register's value reaches a later use at most if it does so here, and all of it is
// linear in the function's size.
//
// Tests: tests/verify/fusion_test.cc.
#pragma once

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

} // namespace lemma::verify

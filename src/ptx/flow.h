// A function's basic blocks, and an order to lay them out in, so that the lowest pc of a warp's diverged
// parts is the one to run first: every block comes after its predecessors but for the back edges of loops,
// and the blocks of a loop lie together (Bourdoncle's weak topological order).
//
// Any order is right, a good one is only faster. So what would take longer than in proportion to the text is
// left in the order of the text: loops within very many loops, and all of a function whose branch tables have
// very many targets together.
//
// Tests: tests/unit/ptx/flow_test.cc.
#pragma once

#include "ptx/module.h"

#include <cstdint>
#include <vector>

namespace lemma::ptx {

// bra, brx.idx, ret, exit, trap: the last of its block.
bool ends_block(Opcode opcode);

// bra, to one label; brx.idx, to one of a list.
inline bool is_branch(const Instruction& instruction) {
  return !instruction.operands.empty() && instruction.operands[0].kind == OperandKind::label;
}
inline bool is_table_branch(const Instruction& instruction) {
  return ends_block(instruction.opcode) && !instruction.operands.empty() &&
         instruction.operands.back().kind == OperandKind::targets;
}

struct BasicBlock {
  uint32_t begin = 0; // instruction indices, half open
  uint32_t end = 0;
  std::vector<uint32_t> successors; // block indices; the one fallen into, if any, first
  bool falls_through = false;
};

// The blocks of a function, in the order of the text. Unreachable ones are among them.
struct Flow {
  std::vector<BasicBlock> blocks;
  bool has_successors = true; // false: there are too many, and `successors` are empty
};
Flow flow_of(const ptx::Function& function);

// Block indices, entry first. Every block occurs once; what cannot be reached comes last. `steps`, if given,
// counts the blocks and branches that were looked at.
std::vector<uint32_t> layout_order(const Flow& flow, uint64_t* steps = nullptr);

} // namespace lemma::ptx

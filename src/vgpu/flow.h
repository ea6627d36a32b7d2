// The order in which a function's basic blocks are laid out, so that the lowest pc of a warp's diverged parts
// is the one to run first: every block comes after its predecessors but for the back edges of loops, and the
// blocks of a loop lie together (Bourdoncle's weak topological order).
//
// Tests: tests/unit/vgpu/flow_test.cc.
#pragma once

#include "ptx/module.h"

#include <cstdint>
#include <vector>

namespace lemma::vgpu {

struct BasicBlock {
  uint32_t begin = 0; // instruction indices, half open
  uint32_t end = 0;
  std::vector<uint32_t> successors; // block indices; the one fallen into, if any, first
  bool falls_through = false;
};

// Blocks in the order of the text. Unreachable ones are among them.
std::vector<BasicBlock> basic_blocks(const ptx::Function& function);

// Block indices, entry first. Every block occurs once; what cannot be reached comes last.
std::vector<uint32_t> layout_order(const std::vector<BasicBlock>& blocks);

} // namespace lemma::vgpu

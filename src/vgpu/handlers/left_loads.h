// wmma.load of f64 whose elements never come to registers: where shared memory cannot change between a load
// and the products, and nobody but these reads the fragment, they read its lines there. To write registers
// and read them again takes a product of f64 longer than to multiply.
//
// A load that finds something unusual loads as always, and says so in the frame: the products then take all
// from registers, where the other loads' elements are brought.
//
// Tests: tests/unit/vgpu/left_loads_test.cc.
#pragma once

#include "vgpu/handlers/wmma_moves.h"
#include "vgpu/written.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lemma::vgpu {

// A fragment of one register.
struct LeftLoad {
  uint32_t reg = 0;
  uint32_t offset = 0; // of the register in the frame
  uint32_t left = 0;   // of LeftInMemory there
};

// Makes the loads of all these registers leave their elements in memory. `registers`: one for each operand of
// each product of a run; `begin` and `end`: pcs, from the begin of its basic block to behind the last
// product; `reads`: count_reads(). Empty: one of them has to load, and nothing was changed.
std::vector<LeftLoad> leave_loads(Code& code, uint32_t begin, uint32_t end,
                                  std::span<const uint32_t> registers, std::span<const uint32_t> reads);

inline LeftInMemory left_by(const Exec& x, const LeftLoad& load) {
  LeftInMemory left;
  std::memcpy(&left, x.bases[0] + load.left, sizeof left);
  return left;
}

// Loads what has been left.
void bring(Exec& x, std::span<const LeftLoad> loads);

} // namespace lemma::vgpu

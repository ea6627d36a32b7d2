// wmma.load of f64 whose elements never come to registers: the products read its lines in memory
// (lowered/matrix_runs.h says of which loads that is so). A load that finds something unusual loads as
// always, and says so in the frame: the products then take all from registers, where the other loads'
// elements are brought.
//
// Tests: tests/unit/vgpu/left_loads_test.cc.
#pragma once

#include "vgpu/handlers/matrix/wmma_moves.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lemma::vgpu {

// A fragment of one register.
struct LeftLoad {
  uint32_t offset = 0; // of the register in the frame
  uint32_t left = 0;   // of LeftInMemory there
};

// Whether the loads of a run leave what they load in memory here: whether the host has a handler that does,
// and each of them its quick way.
bool may_leave_loads(const Code& code, std::span<const uint32_t> pcs);
// Makes a load that may be left leave it.
LeftLoad leave_load(Code& code, uint32_t pc);

inline LeftInMemory left_by(const Exec& x, const LeftLoad& load) {
  LeftInMemory left;
  std::memcpy(&left, x.bases[0] + load.left, sizeof left);
  return left;
}

// Loads what has been left.
void load_left(Exec& x, std::span<const LeftLoad> loads);

} // namespace lemma::vgpu

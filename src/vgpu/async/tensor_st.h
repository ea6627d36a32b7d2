// What one tcgen05.st moves, as data: registers of a warp, to cells of its quarter of tensor memory.
//
// The half of a cell that `.unpack::16b` does not write is zero: assumed.
//
// PTX ISA: "tcgen05.st". Tests: tests/unit/vgpu/tensor_memory_test.cc.
#pragma once

#include "layout/tensor_memory.h"
#include "vgpu/engine/exec.h"

#include <cstdint>
#include <vector>

namespace lemma::vgpu {

struct TensorSt {
  Cta* cta = nullptr;
  layout::TensorCell at; // of the address
  // Of the instruction's plan: of register r and thread t, from there, [r * 32 + t]; packed, two each.
  const std::vector<layout::TensorCell>* cells = nullptr;
  bool packed = false;
  std::vector<uint32_t> values = {}; // [r * 32 + t]
};

// Does it write one of the CTA's columns [column, column + count)?
bool accesses(const TensorSt& st, const Cta& cta, uint32_t column, uint32_t count);

void execute(const TensorSt& st);

} // namespace lemma::vgpu

// What one tcgen05.shift moves, as data: of 32 lanes and eight columns, 32 bytes a lane, what each lane but
// the last has goes to the lane behind it. The first lane keeps what it has.
//
// The PTX ISA says "down by one row" of "all the rows, except the last": towards higher lanes is assumed,
// where the first row of each warp's 32 is free for what tcgen05.cp.4x256b brings, with which the ISA orders
// it.
//
// PTX ISA: "tcgen05.shift". Tests: tests/unit/vgpu/tensor_shift_test.cc.
#pragma once

#include "vgpu/async/tensor_mma.h"

namespace lemma::vgpu {

struct TensorShift {
  static constexpr uint32_t kColumns = 8;

  TensorCtas ctas;       // in each of them
  layout::TensorCell at; // of the first lane
};

// Does it access one of the CTA's columns [column, column + count)?
bool accesses(const TensorShift& shift, const Cta& cta, uint32_t column, uint32_t count);

// Calls visit(cta, column, lanes) for the cells that it reads and writes.
void each_cell(const TensorShift& shift, const TensorVisit& visit);

void execute(const TensorShift& shift);

} // namespace lemma::vgpu

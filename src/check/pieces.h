// A decoded function as pieces of code that lead to each other, by pc: its basic blocks, cut where asked.
//
// Tests: tests/unit/check/loaded_test.cc.
#pragma once

#include "vgpu/code/code.h"

#include <cstdint>
#include <vector>

namespace lemma::check {

struct Piece {
  uint32_t begin = 0, end = 0; // pcs, half open
  std::vector<size_t> next;    // the one fallen into, if any, first
  bool falls_through = false;
};

// In the order of their pcs; a piece begins at each of `cuts`. None: the ways are not known.
std::vector<Piece> pieces_of(const vgpu::Code& code, std::vector<uint32_t> cuts);

// The piece that has the pc.
size_t piece_with(const std::vector<Piece>& pieces, uint32_t pc);

} // namespace lemma::check

// Which bytes of memory an ldmatrix, stmatrix, wmma.load or wmma.store moves to or from which bytes of the
// warp's registers, and movmatrix from register to register; for observers that follow values.
//
// Tests: tests/unit/check/undefined_test.cc.
#pragma once

#include "layout/tile_map.h"
#include "vgpu/code/code.h"

#include <optional>

namespace lemma::vgpu {

struct MatrixMove {
  // Registers to and from the tile, in which piece i of the access (WarpAccess) begins at i * piece_bytes.
  const layout::TileMap* map = nullptr;
  const layout::TileMap* transposed = nullptr; // movmatrix: from the tile to the destination; else null
  uint32_t piece_bytes = 0;
  uint32_t packed_bits = 0; // of an element in memory, which is a byte of the tile; 0: they are alike
  int first_source = 0;     // of the registers that are stored
  LaneMask addressing = 0;  // lanes whose address counts
};

// None where the instruction is another.
std::optional<MatrixMove> matrix_move_of(const Code& code, const DecodedInst& in);

} // namespace lemma::vgpu

// mma.sync and wmma.mma, decoded: what a plan has, for those who execute one instruction or several as one.
//
// Tests: tests/unit/vgpu/matrix_test.cc, mma_runs_test.cc.
#pragma once

#include "layout/register_blocks.h"
#include "layout/tile_map.h"
#include "numeric/dot.h"
#include "vgpu/handlers/matrix/matrix_scales.h"
#include "vgpu/handlers/matrix/matrix_sparse.h"

#include <array>
#include <optional>

namespace lemma::vgpu {

// Where an element narrower than a byte lies in its byte.
struct Container {
  int shift = 0;
  int bits = 8;
};

// What all instructions of one binding do.
struct MmaPlan {
  numeric::DotPlan product; // of one instruction, its matrices in rows
  layout::Shape shape;
  layout::TileMap a, b, c, d;
  int matrices = 1;           // that one warp multiplies: m8n8k4 of f16 has four
  bool narrow_result = false; // the product is made in f32 and then rounded to f16
  bool nibbles = false;       // A and B have two elements a byte, which dot() wants one a byte
  Container container_a, container_b;
  std::optional<SparseIndex> sparse; // A is; its metadata is the source after C
  ScaleOperands scales;              // the sources after those
  uint64_t flops = 0;
  std::array<isa::Type, 4> register_types{}; // of each layout::Matrix
  // None: a register of D, of A or of B is no such block, or the operands need more than to be taken as they
  // are.
  std::optional<layout::RegisterBlocks> blocks;

  // The first source of each matrix.
  int first_b() const { return a.registers(); }
  int first_c() const { return a.registers() + b.registers(); }
};

Step run_mma(Exec& x, const DecodedInst& in); // its plan is an MmaPlan
// The same of an instruction whose plan is elsewhere.
Step multiply(Exec& x, const DecodedInst& in, const MmaPlan& plan);

} // namespace lemma::vgpu

// wmma.load and wmma.store: what a plan has, the plain handlers, which take every case there is, and for
// hosts with AVX-512 one that takes the usual load.
//
// Tests: tests/unit/vgpu/matrix_test.cc.
#pragma once

#include "layout/tile_map.h"
#include "vgpu/exec.h"
#include "vgpu/handlers/lane_places.h"

namespace lemma::vgpu {

// Source 0 is the address, source 1 the stride; then, of a store, the fragment.
struct WmmaMovePlan {
  layout::TileMap map;
  isa::StateSpace space = isa::StateSpace::generic;
  uint32_t lines = 0; // rows, or columns of a column-major matrix
  uint32_t line_bytes = 0;
  uint32_t element_bits = 0;
  uint32_t align = 0; // of the start of each line
  LanePlaces lanes;
};

Step run_wmma_load(Exec& x, const DecodedInst& in); // matrix.cc

// What the plan says that is loaded, of elements of `element_bytes`; null: the plain handler it is.
Handler vector_wmma_load(const WmmaMovePlan& plan, uint32_t register_bytes);

} // namespace lemma::vgpu

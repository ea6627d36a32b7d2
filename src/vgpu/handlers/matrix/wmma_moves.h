// wmma.load and wmma.store: what a plan has, the plain handlers, which take every case there is, and for
// hosts with AVX-512 one that takes the usual load.
//
// Tests: tests/unit/vgpu/matrix_test.cc.
#pragma once

#include "layout/tile_map.h"
#include "vgpu/engine/exec.h"
#include "vgpu/handlers/memory/lane_places.h"

#include <array>

namespace lemma::vgpu {

// Source 0 is the address, source 1 the stride; then, of a store, the fragment.
struct alignas(64) WmmaMovePlan {
  // What the usual load needs, in one line of the host's cache.
  isa::StateSpace space = isa::StateSpace::generic;
  uint32_t lines = 0; // rows, or columns of a column-major matrix
  uint32_t line_bytes = 0;
  uint32_t element_bits = 0;
  uint32_t align = 0;                                // of the start of each line
  std::array<layout::TileMap::Eight, 8> eights = {}; // of each register, where the map has them
  uint32_t seen = 0; // where in the frame: what the load last saw written (SeenWritten), then LeftInMemory
  const SettledRun* settled = nullptr; // that begins with this load (mma_runs.cc); null: none

  layout::TileMap map;
  LanePlaces lanes;

  uint32_t left() const;
};

// Lines of shared memory of which a warp has seen that they were written.
struct SeenWritten {
  uint64_t activation = 0; // 1 more than the frame's
  uint64_t offset = 0, pitch = 0;
  uint64_t forgotten = 0; // WrittenPages::forgotten()

  friend bool operator==(const SeenWritten&, const SeenWritten&) = default;
};

// What a load has left in shared memory, for the product to read there (left_loads.h).
struct LeftInMemory {
  const std::byte* first = nullptr; // line; null: the registers hold the elements
  uint64_t pitch = 0;               // bytes from a line to the next
};

inline uint32_t WmmaMovePlan::left() const {
  return seen + static_cast<uint32_t>(sizeof(SeenWritten));
}

// DecodedInst::flags: where the rows of a block are whole warps, address and stride are the same in all
// lanes.
inline constexpr uint8_t kUniformLines = 1;

Step run_wmma_load(Exec& x, const DecodedInst& in); // matrix.cc

// What the plan says that is loaded, of elements of `element_bytes`; null: the plain handler it is.
Handler vector_wmma_load(const WmmaMovePlan& plan, uint32_t register_bytes);

// The same for a load of one f64 a lane that leaves its lines in memory where it can; null: there is none.
Handler leaving_wmma_load();

} // namespace lemma::vgpu

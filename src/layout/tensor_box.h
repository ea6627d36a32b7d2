// The box that a tensor copy moves: which bytes of global memory go to which bytes of shared memory.
//
// In shared memory the box has its innermost dimension first. It is dense without a swizzle; with one, each
// row takes a whole line of the swizzle, and what a shorter row leaves of it is not touched (measured on an
// H200). Chunks of 16 bytes are filled in full, but of types that are padded in shared memory; what an
// mbarrier counts are the bytes of elements alone (CUTLASS's and Triton's expectations; not in the PTX ISA).
// A row is the run of the innermost dimension; the parts of it that lie outside the tensor are filled when
// loading and left out when storing - but a store or a reduction works on units of 16 bytes, and writes all
// of the unit in which a row of the tensor ends (measured on an H200).
//
// Maps here are right (wrong_with() of tensor_map.h). Sizes are still as large as 2^45 bytes, and
// box_runs() makes a run for each row: whoever calls it has seen that the box fits into shared memory.
//
// Of .tile::gather4 and .tile::scatter4 (sm_100) nothing has been measured: the ISA says that they are as
// tiles but for the rows. Nor of .im2col::w and .im2col::w::128 (sm_100), of which it leaves open what a halo
// has beyond the bounding box: see WideRows.
//
// PTX ISA: "Tensors": "Tiled Mode", ".tile::scatter4 and .tile::gather4 modes", "Im2col Mode", "im2col::w and
// im2col::w::128 modes". Tests: tests/unit/layout/tensor_map_test.cc, tests/unit/layout/wide_box_test.cc;
// recorded hardware bits: tests/golden, group tma.
#pragma once

#include "layout/tensor_map.h"

#include <vector>

namespace lemma::layout {

// A run of bytes of the box, in the order of shared memory.
struct BoxRun {
  uint32_t box_offset = 0; // in the box, dense and before the swizzle and padding
  uint32_t bytes = 0;
  bool inside = false;        // the tensor has these elements, or past_end
  bool past_end = false;      // of a store: what follows the last element of the tensor's row in its unit
  uint64_t global_offset = 0; // inside: from the tensor's address, modulo 2^64
};

enum class BoxUse : uint8_t { load, store }; // reductions are stores

// .tile::gather4 and .tile::scatter4 move rows that need not be neighbours, as one box of so many.
inline constexpr uint32_t kIndexedRows = 4;

// .im2col::w and .im2col::w::128: after each `pixels` pixels come `halo` more, which go on along W from the
// last of them in the same row of the same image; then the traversal goes on as if there had been none. That
// is the ISA's as long as they are within the bounding box. Beyond it the ISA does not say whether they are
// still of that row or of the next image: here of that row.
struct WideRows {
  uint16_t groups = 0; // of so many pixels and their halo; 0: another mode
  uint16_t pixels = 0, halo = 0;
};

struct BoxRequest {
  std::array<int32_t, kMaxTensorRank> coordinates{};
  bool by_row = false; // coordinates 1 to 4 are those of the four rows; the map is one of map_of_rows()
  std::array<uint16_t, 3> im2col_offsets{}; // loads in im2col modes, by spatial dimension
  WideRows wide{};
};

// The map of the box that .tile::gather4 and .tile::scatter4 move, of a map that they take: two dimensions,
// no interleave, no im2col, rows of a box of one.
TensorMapFields map_of_rows(TensorMapFields map);

// The map of the box that .im2col::w and .im2col::w::128 move, of an im2col map without interleave: its
// pixels are all that lie in shared memory, those of the halos too.
TensorMapFields map_of_wide(TensorMapFields map, WideRows rows);
// Whether a pixel of a halo is beyond the bounding box. The map is one of map_of_wide().
bool halo_leaves_box(const TensorMapFields& map, const BoxRequest& request);

// Bytes of the whole box, what lies outside the tensor too, without padding. They are what an mbarrier
// counts.
uint64_t box_bytes(const TensorMapFields& map);
// Bytes of one row, likewise, and the distance between rows in shared memory.
uint32_t row_bytes(const TensorMapFields& map);
uint32_t row_pitch(const TensorMapFields& map);
// Shared memory from the first row to the end of the last line of the swizzle that the box has a chunk in.
uint64_t shared_bytes(const TensorMapFields& map);

// The runs of a box; they cover it.
std::vector<BoxRun> box_runs(const TensorMapFields& map, const BoxRequest& request, BoxUse use);

} // namespace lemma::layout

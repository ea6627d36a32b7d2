// Where the operands of tcgen05.mma other than D lie in tensor memory: A, and the scale factors of a
// block-scaled product. D is in tensor_memory.h.
//
// Row r of A takes 32 bytes, eight columns from A's address on, K along them, the lowest bits first:
//
//   kinds                bits of an element
//   f16, tf32, i8        its own
//   f8f6f4, mxf8f6f4     8; one of 4 or 6 bits is in the low bits of them
//   mxf4, mxf4nvf4       4
//
// It is in every lane that has elements of D's row r: once in data paths a, c, d and f, twice in b and e,
// four times in g. Sources differ on f (M = 64): CUTLASS has rows among D's lanes and, as another way, one
// after the other; TVM has the latter. Here they are among D's lanes.
//
// The scale factor s of row r of A, or of column r of B, is in lane r % 32 of each quarter, in the column
// r / 32 from its address on, in byte id + s of the cell, where the instruction descriptor has the id.
//
// Not here: under .cta_group::2, which CTA has which scale factors; the metadata of a sparse A, which the ISA
// has as figures alone.
//
// No hardware of ours has checked it. PTX ISA: "Data Path Layout Organization", "Packing formats", "Scale
// Factor A Layout". Tests: tests/unit/layout/tensor_memory_test.cc, tests/cli/tensor_cli_test.py, which has
// the virtual GPU multiply what it places so.
#pragma once

#include "layout/tensor_instruction_descriptor.h"
#include "layout/tensor_memory.h"

#include <vector>

namespace lemma::layout {

// Of a number: 4, 6, 8, 16 or 32. Must not be `none`.
uint32_t element_bits(TensorFormat format);

// Bits that an element of A takes in tensor memory.
uint32_t a_element_bits(TensorKind kind, TensorFormat format);

// Of one CTA: the lanes that have elements of a row of D, in the order of D's columns.
std::vector<uint32_t> lanes_of_row(DataPath path, uint32_t m, uint32_t n, uint32_t row, uint32_t half = 0);

inline constexpr uint32_t kScaleBytesOfCell = 4;

struct ScalePlace {
  TensorCell cell; // of the first quarter; the column counts from the scale factors' address
  uint32_t byte = 0;
};
constexpr ScalePlace scale_place(uint32_t row, uint32_t index, uint32_t id) {
  return {{row % kWarpLanes, row / kWarpLanes}, id + index};
}

} // namespace lemma::layout

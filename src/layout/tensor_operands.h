// Where the operands of tcgen05.mma other than D lie in tensor memory, element by element: A, the scale
// factors of a block-scaled product, the metadata of a sparse one. Which lanes and columns those are
// tensor_memory.h and tensor_metadata.h say; here they are for a whole operand, all copies of it.
//
// A row of A takes 32 bytes, eight columns, K along them, the lowest bits first:
//
//   kinds                bits of an element
//   f16, tf32, i8        its own
//   f8f6f4, mxf8f6f4     8; one of 4 or 6 bits is in the low bits of them
//   mxf4, mxf4nvf4       4
//
// Sources differ on A of M = 64 without .ws: CUTLASS has its rows among D's lanes and, as another way, one
// after the other; TVM has the latter. Here they are among D's lanes.
//
// Rows and columns are those of the whole product; lanes are those of the CTA that has them.
//
// No hardware of ours has checked it. PTX ISA: "Data Path Layout Organization", "Packing formats", "Scale
// Factor A Layout". Tests: tests/unit/inspect/tensor_test.cc, tests/cli/tensor_cli_test.py, which has the
// virtual GPU multiply what it places so.
#pragma once

#include "layout/tensor_instruction_descriptor.h"
#include "layout/tensor_memory.h"

#include <vector>

namespace lemma::layout {

// Of a number: 4, 6, 8, 16 or 32. Must not be `none`.
uint32_t element_bits(TensorFormat format);

// Bits that an element of A takes in tensor memory, and as the metadata of a sparse A counts it.
uint32_t a_element_bits(TensorKind kind, TensorFormat format);

// Scale factors of a row of A, and of a column of B: one for each 16 or 32 of K, `scale_vec` for all but K
// = 96.
uint32_t scales_of(const TensorInstructionDescriptor& descriptor, uint32_t scale_vec);

// The first four bytes of scale factors of 32 rows lie in a column. A fifth and sixth, which K = 96 has, are
// so many columns further on: behind all rows' first, counted by 128 rows. CUTLASS has them so, and the PTX
// ISA figures alone. `rows` are those of all blocks.
uint32_t columns_to_more_scales(uint32_t rows, uint32_t blocks);

// Some bits of a cell of one CTA's tensor memory.
struct TensorBits {
  uint32_t cta = 0; // of the pair; 0 where there is none
  TensorCell cell;  // columns count from the operand's address
  uint32_t bit = 0; // the first
};

// Every place of an element: the product's data path and instruction descriptor.
struct TensorOperands {
  DataPath path{};
  TensorInstructionDescriptor descriptor;

  std::vector<TensorBits> d(uint32_t row, uint32_t column) const;
  std::vector<TensorBits> a(uint32_t row, uint32_t k) const; // k-th of the stored elements
  // Scale factor `index` of a row of A, of a column of B. Those of A are in the CTA of the row, of B in both.
  std::vector<TensorBits> scale_a(uint32_t row, uint32_t index) const;
  std::vector<TensorBits> scale_b(uint32_t column, uint32_t index) const;
  // Of a chunk of a row of a sparse A.
  std::vector<TensorBits> metadata(uint32_t row, uint32_t chunk) const;

private:
  // A byte of the scale factors of a row, in the quarter.
  TensorBits scale(uint32_t cta, uint32_t quarter, uint32_t row, uint32_t byte, uint32_t to_more) const;
  uint32_t rows() const { return descriptor.m / ctas_of(path); } // of a CTA
  // The lanes that have elements of a row of D, one of each block of columns.
  std::vector<uint32_t> lanes_of_row(uint32_t row) const;
};

} // namespace lemma::layout

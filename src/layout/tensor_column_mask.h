// The 64-bit descriptor by which tcgen05.mma.ws takes columns of B for zeros, and begins at a later one.
//
//   bits 7..0, 15..8, 23..16, 31..24   start count of sub-mask 0, 1, 2, 3
//   bits 32, 33, 34, 35                first span of sub-mask 0, 1, 2, 3: 0 columns that are used, 1 zeros
//   bits 38..36                        0
//   bit  39                            1: there is a mask; 0: every column is used
//   bits 47..40                        skip span: columns that are zeros, one after the other, - 1
//   bits 55..48                        use span: columns that are used, one after the other, - 1
//   bits 61..56                        column shift: column c of the product is column c + shift of B
//   bits 63..62                        0
//
// Each block of columns that D has below each other (tensor_memory.h) has a sub-mask of its own. In it spans
// of columns that are used and of zeros take turns, from the first span on, without the first `start count`
// of these columns.
//
// The PTX ISA contradicts itself: the table of the fields calls the two spans the other way round, its four
// examples are as here, and so is CUTLASS. It does not say which columns a mask counts under a shift: those
// of the product, as CUTLASS's convolutions make them.
//
// Not here: that the instruction descriptor allows no larger shift than its own.
//
// No hardware of ours has checked it. PTX ISA: "Zero-Column Mask Descriptor". Tests:
// tests/unit/layout/tensor_column_mask_test.cc.
#pragma once

#include "layout/descriptor_field.h"

#include <array>
#include <optional>
#include <vector>

namespace lemma::layout {

struct TensorColumnMask {
  uint64_t bits = 0; // all of them, for the rules of what is reserved
  std::array<uint8_t, 4> start_counts{};
  std::array<bool, 4> zeros_first{};
  bool has_mask = false;
  uint32_t skip_span = 1, use_span = 1; // columns
  uint32_t shift = 0;

  static TensorColumnMask decode(uint64_t bits);

  // Is a column, counted within the block, taken for zeros?
  bool is_zero(uint32_t block, uint32_t column) const {
    if (!has_mask)
      return false;
    const uint32_t at = (start_counts[block] + column) % (skip_span + use_span);
    return zeros_first[block] ? at < skip_span : at >= use_span;
  }
};

// The first rule that the descriptor breaks for a product of `m` rows whose instruction descriptor allows
// shifts up to `max_shift`: the field, its bits, its value, and what is legal there. None: it breaks none.
std::optional<std::string> wrong(const TensorColumnMask& mask, uint32_t m, uint32_t max_shift);

// Every field in the order of the bits, those that must be 0 too.
std::vector<DescriptorField> explain(const TensorColumnMask& mask);

} // namespace lemma::layout

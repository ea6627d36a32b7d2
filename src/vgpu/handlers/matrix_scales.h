// The scales of block-scaled mma: scale-a-data and scale-b-data with their selectors {byte-id, thread-id}.
//
// Which lanes and bytes hold them is layout::scale_place(). What the ISA leaves undefined is a fault: lanes
// that disagree about a selector, and selectors that the assembler refuses where they are constants.
//
// PTX ISA: "Block Scaling". Not checked on hardware: no H200 has it.
// Tests: tests/unit/vgpu/block_scale_test.cc.
#pragma once

#include "layout/fragment.h"
#include "vgpu/decoder.h"

namespace lemma::vgpu {

class ScaleOperands {
public:
  // `per_line` scales to a row of A or a column of B: 1, 2 or 4.
  ScaleOperands() = default;
  ScaleOperands(layout::Shape shape, int per_line) : shape_(shape), per_line_(per_line) {}

  bool any() const { return per_line_ != 0; }
  // Places the instruction's last four operands, from `first` on, as sources; false where they are not what
  // is wanted.
  bool place(Decoder& decoder, const ptx::Instruction& instruction, size_t first,
             std::vector<Slot>& srcs) const;
  // Reads them from source `first` on: `a` [m][per_line], `b` [n][per_line]. False after a fault.
  bool read(Exec& x, const DecodedInst& in, int first, uint8_t* a, uint8_t* b) const;

private:
  bool read_one(Exec& x, const DecodedInst& in, int first, layout::Matrix matrix, uint8_t* out) const;

  layout::Shape shape_;
  int per_line_ = 0;
};

} // namespace lemma::vgpu

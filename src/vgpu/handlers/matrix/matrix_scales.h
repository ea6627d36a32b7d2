// The scales of block-scaled mma: scale-a-data and scale-b-data with their selectors {byte-id, thread-id}.
//
// Which lanes and bytes hold them is layout::scale_fragment(). What the ISA leaves undefined is a fault:
// lanes that disagree about a selector, and selectors that the assembler refuses where they are constants.
//
// PTX ISA: "Block Scaling". Not checked on hardware: no H200 has it.
// Tests: tests/unit/vgpu/block_scale_test.cc.
#pragma once

#include "layout/fragment.h"
#include "vgpu/code/decoder.h"

#include <array>

namespace lemma::vgpu {

class ScaleOperands {
public:
  // `per_line` scales to a row of A or a column of B: 1, 2 or 4.
  ScaleOperands() = default;
  ScaleOperands(layout::Shape shape, int per_line);

  bool any() const { return a_.count != 0; }
  // Places the instruction's last four operands, from `first` on, as sources; false where they are not what
  // is wanted.
  bool place(Decoder& decoder, const ptx::Instruction& instruction, size_t first,
             std::vector<Slot>& srcs) const;
  // Reads them from source `first` on: `a` [m][per_line], `b` [n][per_line]. False after a fault.
  bool read(Exec& x, const DecodedInst& in, int first, uint8_t* a, uint8_t* b) const;

private:
  static constexpr size_t kMost = 64; // scales of a matrix: 16 rows of four

  struct Side {
    char letter = 'a'; // of the matrix, for messages
    layout::ScaleFragment fragment{};
    size_t count = 0; // scales
    // Where each lies with selector {0, 0}, as an offset into the bytes of all lanes' registers.
    std::array<uint8_t, kMost> first{};
  };
  static Side side(char letter, const layout::ScaleFragment& fragment, bool by_rows);
  static bool read_one(Exec& x, const DecodedInst& in, int first, const Side& side, uint8_t* out);

  Side a_, b_;
};

} // namespace lemma::vgpu

// The room of the variable that an instruction's address is of (ptx/origins.h): PTX lays variables out as it
// likes, so an access that has left its variable is wherever chance has put it. Variables in .shared and
// .local; those in .global and .const have room around them, and dynamic shared memory is one.
//
// Tests: tests/unit/check/protocol_test.cc.
#pragma once

#include "vgpu/code/program.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace lemma::check {

// Which variable of a kernel has that place in shared memory, and how far from its begin; null: none.
std::pair<const ptx::Variable*, uint64_t> variable_at(const vgpu::Program& program,
                                                      const ptx::Function& kernel, uint64_t offset);

class Provenance {
public:
  struct Range {
    const ptx::Variable* variable = nullptr;
    uint64_t begin = 0, end = 0; // in the CTA's shared memory; .local: in the frame of the function
  };
  Provenance(const vgpu::Program& program, const vgpu::Code& code);
  // Of the address that the instruction accesses; null: not known.
  const Range* of(vgpu::InstId in) const {
    const uint32_t range = by_instruction_[in.index];
    return range ? &ranges_[range] : nullptr;
  }

private:
  std::vector<Range> ranges_; // [0] is none
  std::vector<uint32_t> by_instruction_;
};

} // namespace lemma::check

// Operands that the asynchronous instructions have in common: addresses in the cluster's shared memory and
// mbarriers.
//
// Tests: tests/unit/vgpu/mbarrier_test.cc, async_copy_test.cc.
#pragma once

#include "vgpu/decoder.h"
#include "vgpu/mbarrier.h"

namespace lemma::vgpu {

// Places an address operand as a source: its base register, or the constant 0 where the offset is all of it.
struct PlacedAddress {
  Slot base;
  int64_t offset = 0;
  isa::StateSpace space = isa::StateSpace::generic;
};
PlacedAddress place_address(Decoder& decoder, const ptx::Instruction& instruction,
                            const ptx::Operand& operand);

// The address in each lane: source `index` plus the offset.
uint64_t lane_address(const Exec& x, const DecodedInst& in, int index, int64_t offset, int lane);

// Where host memory that Exec::access() gave lies in the cluster's shared memory; no CTA if in none.
MbarrierPlace shared_place(const Exec& x, const std::byte* host);

// The mbarrier at an address, checked: in shared memory, aligned, initialized. No CTA after a fault.
MbarrierPlace find_mbarrier(Exec& x, const DecodedInst& in, isa::StateSpace space, uint64_t address,
                            int lane);

} // namespace lemma::vgpu

// Values of special registers (%tid, %ctaid, %laneid, %clock64, ...). PTX ISA, "Special Registers".
//
// Tests: tests/unit/vgpu/core_test.cc, cluster_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

// A handler that writes the register to destination 0. DecodedInst::imm holds the register,
// DecodedInst::width the bytes of the destination's lanes (0: a predicate).
Handler special_register_reader(isa::SpecialRegister sreg);

// %reserved_smem_offset_0 and _1: where cooperative groups keep what tiles of several warps share.
bool finds_reserved_shared(isa::SpecialRegister sreg);

} // namespace lemma::vgpu

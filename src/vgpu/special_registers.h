// Values of special registers (%tid, %ctaid, %laneid, %clock64, ...). PTX ISA, "Special Registers".
//
// Tests: tests/unit/vgpu/special_registers_test.cc.
#pragma once

#include "vgpu/exec.h"

namespace lemma::vgpu {

// A handler that writes the register to destination 0. DecodedInst::imm holds the register,
// DecodedInst::width the bytes of the destination's lanes (0: a predicate).
Handler special_register_reader(isa::SpecialRegister sreg);

// %reserved_smem_offset_0 and _1: where cooperative groups keep what tiles of several warps share.
bool finds_reserved_shared(isa::SpecialRegister sreg);

// Whether it reads %clock or %globaltimer, or a part of one.
bool reads_clock(const DecodedInst& in);

// Does the instruction read %tid.x? Or any register that lanes have a value each of, but for clocks?
bool reads_tid_x(const DecodedInst& in);
bool reads_by_lane(const DecodedInst& in);

// Does it read one that all threads of a CTA have the same of, all the time?
bool reads_by_cta(const DecodedInst& in);

} // namespace lemma::vgpu

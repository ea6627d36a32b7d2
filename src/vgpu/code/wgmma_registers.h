// Which registers of a function wgmma has, as accumulators or as fragments of A, and which other instructions
// touch them: an observer is told of those alone.
//
// PTX ISA: "wgmma.fence", "wgmma.wait_group". Tests: tests/unit/check/registers_test.cc.
#pragma once

#include "vgpu/code/code.h"

namespace lemma::vgpu {

// The sources of a wgmma.mma_async that are registers of A come first; so many.
int wgmma_a_registers(const Code& code, const DecodedInst& mma);

// mov from one register, or a constant, to another.
bool is_plain_move(const Code& code, const DecodedInst& in);

// Sets Code::wgmma_numbers, and DecodedInst::touches_wgmma of every other instruction that names one of them.
void find_wgmma_registers(Code& code);

} // namespace lemma::vgpu

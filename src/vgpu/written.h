// Registers of decoded code by what is known of their being written and read.
//
// Tests: tests/unit/vgpu/unwritten_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code.h"

namespace lemma::vgpu {

// ld and st move registers from and to memory as they are.
inline bool is_load(const Code& code, const DecodedInst& in) {
  const isa::Opcode opcode = code.opcode_of(in);
  return opcode == isa::Opcode::ld || opcode == isa::Opcode::ldu;
}

// How often each register is read; those of parameters and results count as more than once.
std::vector<uint32_t> count_reads(const Code& code);

} // namespace lemma::vgpu

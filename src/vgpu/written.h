// Which reads may see a register that was never written. Most registers are provably written before every
// read, so that the interpreter need not ask; for the others it keeps a mask of lanes and asks at run time.
//
// Tests: tests/unit/vgpu/written_test.cc.
#pragma once

#include "ptx/flow.h"
#include "vgpu/code.h"

namespace lemma::vgpu {

struct PcRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// ld and st move registers from and to memory as they are.
inline bool is_load(const Code& code, const DecodedInst& in) {
  const isa::Opcode opcode = code.opcode_of(in);
  return opcode == isa::Opcode::ld || opcode == isa::Opcode::ldu;
}

// Sets DecodedInst::checks_init and marks_written and Code::tracked. `ranges` is each block's place in the
// code, `order` the order in which blocks lie.
void find_unwritten_reads(Code& code, const ptx::Flow& flow, const std::vector<uint32_t>& order,
                          const std::vector<PcRange>& ranges);

// How often each register is read; those of parameters and results count as more than once.
std::vector<uint32_t> count_reads(const Code& code);

} // namespace lemma::vgpu

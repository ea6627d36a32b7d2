#include "vgpu/written.h"

namespace lemma::vgpu {

std::vector<uint32_t> count_reads(const Code& code) {
  std::vector<uint32_t> reads(code.registers.size());
  const auto note = [&](uint32_t reg, uint32_t count) {
    if (reg != ptx::kNone)
      reads[reg] += count;
  };
  for (const auto* variables : {&code.function->params, &code.function->returns})
    for (const ptx::Variable& variable : *variables)
      note(variable.reg, 2);
  for (const DecodedInst& in : code.insts) {
    note(code.guard_register(in), 1);
    for (const Slot& slot : in.updates ? code.ops_of(in) : code.srcs_of(in))
      note(slot.reg(), 1);
  }
  return reads;
}

} // namespace lemma::vgpu

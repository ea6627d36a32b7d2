// Registers are told apart by where they lie in the frame, so that components of a vector register are
// registers of their own. See wgmma_registers.h.
#include "vgpu/code/wgmma_registers.h"

#include <algorithm>

namespace lemma::vgpu {

int wgmma_a_registers(const Code& code, const DecodedInst& mma) {
  const ptx::Operand& a = code.function->instructions[mma.source].operands[1];
  return a.kind == ptx::OperandKind::vector ? static_cast<int>(a.elems.size()) : 0;
}

bool is_plain_move(const Code& code, const DecodedInst& in) {
  return code.opcode_of(in) == isa::Opcode::mov && in.dst_count == 1 && in.op_count == 2 &&
         code.ops_of(in)[0].bytes == code.ops_of(in)[1].bytes;
}

void find_wgmma_registers(Code& code) {
  const auto is_mma = [&](const DecodedInst& in) {
    return code.opcode_of(in) == isa::Opcode::wgmma_mma_async;
  };
  const auto add = [&](const Slot& slot) {
    if (slot.base != 0 || slot.bytes == 0 || slot.reg() == ptx::kNone)
      return;
    const size_t at = slot.offset / Code::kWgmmaUnit;
    if (at >= code.wgmma_numbers.size())
      code.wgmma_numbers.resize(at + 1, ptx::kNone);
    if (code.wgmma_numbers[at] == ptx::kNone)
      code.wgmma_numbers[at] = code.wgmma_registers++;
  };
  for (const DecodedInst& in : code.insts)
    if (is_mma(in))
      for (int i = 0; i < in.dst_count + wgmma_a_registers(code, in); ++i)
        add(code.ops_of(in)[static_cast<size_t>(i)]);
  for (DecodedInst& in : code.insts)
    if (!is_mma(in))
      in.touches_wgmma = std::ranges::any_of(
          code.ops_of(in), [&](const Slot& slot) { return code.wgmma_number(slot) != ptx::kNone; });
}

} // namespace lemma::vgpu

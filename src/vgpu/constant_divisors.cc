// One pass over the function says what each register is known to be, one over its decoded divisions exchanges
// their handlers. A register that any other instruction writes, a call's results included, is not known.
#include "vgpu/constant_divisors.h"

#include "ptx/registers.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

enum class Known : uint8_t { never_written, constant, no };

class Registers {
public:
  explicit Registers(const ptx::Function& function) : known_(function.registers.size()) {
    for (const Instruction& instruction : function.instructions)
      see(instruction);
  }

  bool is_constant(uint32_t reg) const { return reg != kNone && known_[reg] == Known::constant; }

private:
  void see(const Instruction& instruction) {
    const auto& operands = instruction.operands;
    if (instruction.opcode == isa::Opcode::call && operands.size() > 1)
      write(operands[1], Known::no);
    else if (ptx::first_source(instruction) == 1)
      write(operands[0], is_constant_mov(instruction) ? Known::constant : Known::no);
  }

  bool is_constant_mov(const Instruction& instruction) const {
    if (instruction.opcode != isa::Opcode::mov || instruction.guard.reg != kNone ||
        instruction.operands[0].kind != OperandKind::reg)
      return false;
    const Operand& from = instruction.operands[1];
    return from.kind == OperandKind::imm ||
           (from.kind == OperandKind::reg && from.component < 0 && from.offset == 0 && is_constant(from.reg));
  }

  void write(const Operand& operand, Known what) {
    ptx::for_each_register(operand, [&](uint32_t reg, bool in_part) {
      known_[reg] = known_[reg] == Known::never_written && !in_part ? what : Known::no;
    });
  }

  std::vector<Known> known_;
};

} // namespace

void find_constant_divisors(Code& code) {
  const auto is_division = [](const DecodedInst& in) { return division_by_constant(in.handler) != nullptr; };
  if (std::none_of(code.insts.begin(), code.insts.end(), is_division))
    return;
  const Registers registers(*code.function);
  for (DecodedInst& in : code.insts)
    if (is_division(in))
      if (const Slot& divisor = in.ops[in.dst_count + 1];
          divisor.base == 1 || registers.is_constant(divisor.reg))
        in.handler = division_by_constant(in.handler);
}

} // namespace lemma::vgpu

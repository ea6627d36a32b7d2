// What the program says of its own words, and of operands of the text.
#include "lowered/program.h"

#include <algorithm>
#include <iterator>

namespace lemma::lowered {

std::string_view to_string(Op op) {
  switch (op) {
#define OP(name, spelling)                                                                                   \
  case Op::name:                                                                                             \
    return spelling;
#include "lowered/ops.def"
  }
  return {};
}

std::string_view to_string(Note note) {
  switch (note) {
#define NOTE(name, spelling)                                                                                 \
  case Note::name:                                                                                           \
    return spelling;
#include "lowered/notes.def"
  }
  return {};
}

// Notes has a bit for each.
static_assert(std::size({
#define NOTE(name, spelling) 0,
#include "lowered/notes.def"
              }) <= 16);

isa::Effects effects_of(const Function& function, const Inst& inst) {
  const ptx::Instruction* instruction = function.instruction_of(inst);
  return instruction && inst.op == Op::instruction ? isa::effects_of(instruction->opcode) : isa::Effects{};
}

uint8_t register_bytes(isa::Type type) {
  return type == isa::Type::pred ? 0 : static_cast<uint8_t>(std::max(2, isa::bytes_of(type)));
}

const ptx::Variable& Function::variable_of(const VariableAddress& address) const {
  using Scope = ptx::Operand::SymbolScope;
  switch (address.scope) {
  case Scope::function:
    return text->variables[address.symbol];
  case Scope::param:
    return text->params[address.symbol];
  case Scope::return_param:
    return text->returns[address.symbol];
  case Scope::module:
    break;
  }
  return module->variables[address.symbol];
}

uint32_t width_of(const ptx::Operand& operand, const ptx::Function& text) {
  const auto sum = [&](size_t first) {
    uint32_t width = 0;
    for (size_t i = first; i < operand.elems.size(); ++i)
      width += width_of(operand.elems[i], text);
    return width;
  };
  switch (operand.kind) {
  case ptx::OperandKind::vector:
  case ptx::OperandKind::pair:
    return sum(0);
  case ptx::OperandKind::address:
    return 1 + sum(1);
  case ptx::OperandKind::reg:
    return operand.component < 0 && operand.offset == 0 && !operand.negated
               ? text.registers[operand.reg].vector_elems
               : 1;
  default:
    return 1;
  }
}

} // namespace lemma::lowered

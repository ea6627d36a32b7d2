// A data-flow analysis without the flow: the definitions of each register are joined until nothing changes.
// See origins.h.
#include "ptx/origins.h"

#include "isa/effects.h"
#include "ptx/registers.h"

namespace lemma::ptx {
namespace {

namespace effect = isa::effect;
using Kind = Origin::Kind;

constexpr int kMostPasses = 16; // over the text, which hands most values down
constexpr Origin kUnset{Kind::unset}, kNumber{Kind::number}, kSeveral{Kind::several};

// Of a register that two instructions write.
Origin join(Origin a, Origin b) {
  return a == b || b == kUnset ? a : a == kUnset ? b : kSeveral;
}

// A number leaves an address where it is; two addresses together are none.
Origin sum(Origin a, Origin b) {
  if (a == kUnset || b == kUnset)
    return kUnset;
  return a == kNumber ? b : b == kNumber ? a : kSeveral;
}

// Of whatever is computed from both.
Origin mix(Origin a, Origin b) {
  const auto says_nothing = [](Origin origin) { return origin == kUnset || origin == kNumber; };
  return a == b || says_nothing(b) ? a : says_nothing(a) ? b : kSeveral;
}

bool is_register(const Operand& operand) {
  return operand.kind == OperandKind::reg && operand.component < 0;
}

} // namespace

Origins::Origins(const Module& module, const Function& function)
    : module_(module), function_(function), addresses_(function.registers.size(), kNumber),
      made_(function.registers.size(), kNumber) {
  for (const Instruction& instruction : function.instructions)
    for_each_written(instruction, [&](uint32_t reg) { addresses_[reg] = kUnset; });
  bool changed = true;
  for (int pass = 0; changed && pass < kMostPasses; ++pass) {
    changed = false;
    for (const Instruction& instruction : function.instructions)
      changed |= define(instruction);
  }
  if (changed) {
    addresses_.assign(addresses_.size(), kSeveral);
    made_.assign(made_.size(), kSeveral);
  }
}

bool Origins::define(const Instruction& instruction) {
  const Origin made = made_by(instruction);
  bool changed = false;
  const auto set = [&](Origin& to, Origin now) {
    changed |= to != now;
    to = now;
  };
  for_each_written(instruction, [&](uint32_t reg) {
    const bool is_whole = first_source(instruction) == 1 && is_register(instruction.operands[0]);
    set(addresses_[reg], join(addresses_[reg], is_whole ? address_of_result(instruction) : kNumber));
    set(made_[reg], mix(made_[reg], made));
  });
  return changed;
}

// Of one that writes a register.
Origin Origins::address_of_result(const Instruction& instruction) const {
  const auto source = [&](size_t i) {
    return i < instruction.operands.size() ? address_of(instruction.operands[i]) : kNumber;
  };
  const isa::Effects does = isa::effects_of(instruction.opcode);
  if (does.has_any(effect::moves | effect::converts))
    return source(1);
  if (instruction.opcode == Opcode::sub) // of two addresses: their distance
    return source(2).is_variable() || source(2) == kSeveral ? kNumber : source(1);
  if (does.has_any(effect::adds | effect::bitwise))
    return sum(source(1), source(2));
  if (instruction.opcode == Opcode::mad) {
    const Origin factors = sum(source(1), source(2));
    return factors == kNumber ? source(3) : factors == kUnset ? kUnset : kSeveral;
  }
  return does.has(effect::selects) ? join(source(1), source(2)) : kNumber;
}

Origin Origins::made_by(const Instruction& instruction) const {
  if (first_source(instruction) != 1 ||
      isa::effects_of(instruction.opcode)
          .has_any(effect::compares | effect::reads | effect::calls | effect::asynchronous))
    return kNumber;
  if (instruction.opcode == Opcode::mapa) // another CTA's
    return kSeveral;
  Origin all = kNumber;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    all = mix(all, made_from(instruction.operands[i]));
  return all;
}

Origin Origins::made_from(const Operand& operand) const {
  if (operand.kind != OperandKind::vector)
    return origin(operand, made_);
  Origin all = kNumber;
  for (const Operand& element : operand.elems)
    all = mix(all, made_from(element));
  return all;
}

Origin Origins::origin(const Operand& operand, const std::vector<Origin>& registers) const {
  switch (operand.kind) {
  case OperandKind::reg:
    return registers[operand.reg];
  case OperandKind::symbol:
    if (operand.symbol_scope == Operand::SymbolScope::module)
      return {Kind::variable, &module_.variables[operand.symbol]};
    if (operand.symbol_scope == Operand::SymbolScope::function)
      return {Kind::variable, &function_.variables[operand.symbol]};
    return kNumber;
  case OperandKind::address:
    return operand.elems.empty() ? kNumber : origin(operand.elems[0], registers);
  default:
    return kNumber;
  }
}

} // namespace lemma::ptx

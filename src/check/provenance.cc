// A data-flow analysis without the flow: definitions of registers are joined until nothing changes. See
// provenance.h.
#include "check/provenance.h"

#include "ptx/registers.h"

#include <algorithm>
#include <map>

namespace lemma::check {

namespace effect = isa::effect;
using isa::Opcode;
using isa::StateSpace;
using ptx::Operand;
using ptx::OperandKind;

namespace {

// What a register has: not known yet, a number, or a variable (kNumber + its range); of several: kMixed.
constexpr uint32_t kUnset = 0, kNumber = 1, kMixed = UINT32_MAX;

uint32_t join(uint32_t a, uint32_t b) {
  return a == b || b == kUnset ? a : a == kUnset ? b : kMixed;
}

// Of a sum: a number leaves the other as it is.
uint32_t sum(uint32_t a, uint32_t b) {
  if (a == kUnset || b == kUnset)
    return kUnset;
  return a == kNumber ? b : b == kNumber ? a : kMixed;
}

class Analysis {
public:
  Analysis(const vgpu::Program& program, const vgpu::Code& code, std::vector<Provenance::Range>& ranges)
      : program_(program), code_(code), function_(*code.function), ranges_(ranges),
        registers_(function_.registers.size(), kUnset) {
    defined_.resize(registers_.size());
    for (const ptx::Instruction& instruction : function_.instructions)
      for (size_t i = 0; i < ptx::first_source(instruction); ++i)
        ptx::for_each_register(instruction.operands[i], [&](uint32_t reg, bool) { defined_[reg] = true; });
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const ptx::Instruction& instruction : function_.instructions)
        changed |= define(instruction);
    }
  }

  uint32_t of_address(const ptx::Instruction& instruction) {
    for (const Operand& operand : instruction.operands)
      if (operand.kind == OperandKind::address && !operand.elems.empty()) {
        const uint32_t base = value(operand.elems[0]);
        return base == kMixed || base <= kNumber ? 0 : base - kNumber;
      }
    return 0;
  }

private:
  bool define(const ptx::Instruction& instruction) {
    if (!instruction.form() || ptx::first_source(instruction) == 0)
      return false;
    const Operand& to = instruction.operands[0];
    const uint32_t made = to.kind == OperandKind::reg && to.component < 0 ? result(instruction) : kNumber;
    bool changed = false;
    ptx::for_each_register(to, [&](uint32_t reg, bool) {
      const uint32_t joined = join(registers_[reg], made);
      changed |= joined != registers_[reg];
      registers_[reg] = joined;
    });
    return changed;
  }

  uint32_t result(const ptx::Instruction& instruction) {
    const auto source = [&](size_t i) {
      return i < instruction.operands.size() ? value(instruction.operands[i]) : kNumber;
    };
    const isa::Effects does = isa::effects_of(instruction.opcode);
    if (does.has_any(effect::moves | effect::converts))
      return source(1);
    if (instruction.opcode == Opcode::sub)
      return source(2) > kNumber ? kNumber : source(1);
    if (does.has_any(effect::adds | effect::bitwise))
      return sum(source(1), source(2));
    if (instruction.opcode == Opcode::mad)
      return source(1) > kNumber || source(2) > kNumber ? kMixed : source(3);
    return does.has(effect::selects) ? join(source(1), source(2)) : kNumber;
  }

  uint32_t value(const Operand& operand) {
    switch (operand.kind) {
    case OperandKind::reg:
      return defined_[operand.reg] ? registers_[operand.reg] : kNumber;
    case OperandKind::symbol:
      return range_of(operand);
    default:
      return kNumber;
    }
  }

  uint32_t range_of(const Operand& symbol) {
    using Scope = Operand::SymbolScope;
    if (symbol.symbol_scope != Scope::function && symbol.symbol_scope != Scope::module)
      return kNumber;
    const bool local = symbol.symbol_scope == Scope::function;
    const ptx::Variable& variable =
        (local ? function_.variables : program_.module().variables)[symbol.symbol];
    uint64_t begin = 0;
    if (variable.space == StateSpace::shared && variable.linkage != ptx::Linkage::extern_ &&
        program_.shared_offset_of(variable) != vgpu::kDynamicShared)
      begin = program_.shared_offset_of(variable);
    else if (variable.space == StateSpace::local && local)
      begin = code_.variable_offsets[symbol.symbol];
    else
      return kNumber;
    const auto [known, fresh] = known_.try_emplace(&variable, static_cast<uint32_t>(ranges_.size()));
    if (fresh)
      ranges_.push_back({&variable, begin, begin + variable.size_bytes});
    return kNumber + known->second;
  }

  const vgpu::Program& program_;
  const vgpu::Code& code_;
  const ptx::Function& function_;
  std::vector<Provenance::Range>& ranges_;
  std::map<const ptx::Variable*, uint32_t> known_;
  std::vector<uint32_t> registers_;
  std::vector<bool> defined_;
};

} // namespace

std::pair<const ptx::Variable*, uint64_t> variable_at(const vgpu::Program& program,
                                                      const ptx::Function& kernel, uint64_t offset) {
  for (const std::vector<ptx::Variable>* variables : {&kernel.variables, &program.module().variables})
    for (const ptx::Variable& variable : *variables) {
      const uint32_t begin = variable.space == isa::StateSpace::shared ? program.shared_offset_of(variable)
                                                                       : vgpu::kDynamicShared;
      if (begin != vgpu::kDynamicShared && offset >= begin && offset - begin < variable.size_bytes)
        return {&variable, offset - begin};
    }
  return {nullptr, 0};
}

Provenance::Provenance(const vgpu::Program& program, const vgpu::Code& code) : ranges_(1) {
  Analysis analysis(program, code, ranges_);
  analysis.run();
  for (const ptx::Instruction& instruction : code.function->instructions)
    by_instruction_.push_back(analysis.of_address(instruction));
}

} // namespace lemma::check

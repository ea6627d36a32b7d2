// Origins of addresses (ptx/origins.h), as ranges of bytes. See provenance.h.
#include "check/provenance.h"

#include "ptx/origins.h"

#include <map>

namespace lemma::check {

using isa::StateSpace;

namespace {

// Null: it has none.
const ptx::Operand* address_of(const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands)
    if (operand.kind == ptx::OperandKind::address && !operand.elems.empty())
      return &operand;
  return nullptr;
}

// Of a variable that has a place of its own in the CTA's shared memory or in the function's frame; else none.
Provenance::Range range_of(const vgpu::Program& program, const vgpu::Code& code,
                           const ptx::Variable* variable) {
  if (!variable)
    return {};
  uint64_t begin = 0;
  const std::vector<ptx::Variable>& own = code.function->variables;
  const bool is_own = !own.empty() && variable >= &own.front() && variable <= &own.back();
  if (variable->space == StateSpace::shared && variable->linkage != ptx::Linkage::extern_ &&
      program.shared_offset_of(*variable) != vgpu::kDynamicShared)
    begin = program.shared_offset_of(*variable);
  else if (variable->space == StateSpace::local && is_own)
    begin = code.variable_offsets[static_cast<size_t>(variable - own.data())];
  else
    return {};
  return {variable, begin, begin + variable->size_bytes};
}

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
  const ptx::Origins origins(program.module(), *code.function);
  std::map<const ptx::Variable*, uint32_t> known{{nullptr, 0}};
  for (const ptx::Instruction& instruction : code.function->instructions) {
    const ptx::Operand* address = address_of(instruction);
    const Range range = range_of(program, code, address ? origins.address_of(*address).variable : nullptr);
    const auto [at, is_new] = known.try_emplace(range.variable, static_cast<uint32_t>(ranges_.size()));
    if (is_new)
      ranges_.push_back(range);
    by_instruction_.push_back(at->second);
  }
}

} // namespace lemma::check

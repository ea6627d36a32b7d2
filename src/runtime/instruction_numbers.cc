// A prefix sum over the functions.
#include "runtime/instruction_numbers.h"

#include <algorithm>

namespace lemma::runtime {

InstructionNumbers::InstructionNumbers(const ptx::Module& module) : module_(module) {
  uint32_t count = 0;
  for (const ptx::Function& function : module.functions) {
    first_.push_back(count);
    count += static_cast<uint32_t>(function.instructions.size());
  }
  first_.push_back(count);
}

uint32_t InstructionNumbers::of(vgpu::InstId id) const {
  return id ? first_[id.function] + id.index : kNone;
}

const ptx::Function& InstructionNumbers::function_of(uint32_t number) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), number);
  return module_.functions[static_cast<size_t>(next - first_.begin()) - 1];
}

const ptx::Instruction& InstructionNumbers::instruction(uint32_t number) const {
  const ptx::Function& function = function_of(number);
  return function.instructions[number - first_[static_cast<size_t>(&function - module_.functions.data())]];
}

} // namespace lemma::runtime

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

uint32_t InstructionNumbers::of(const vgpu::Code& code, const vgpu::DecodedInst& in) const {
  const vgpu::DecodedInst* at = &in;
  const vgpu::DecodedInst* end = code.insts.data() + code.insts.size();
  while (at < end && at->source == ptx::kNone) // just before the one that it serves
    ++at;
  return at == end ? kNone
                   : first_[static_cast<size_t>(code.function - module_.functions.data())] + at->source;
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

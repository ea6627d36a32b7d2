// Registers that some instruction of the function reads, wherever it stands. See results.h.
#include "check/results.h"

#include "ptx/registers.h"

namespace lemma::check {

Results::Results(const vgpu::Code& code) {
  const ptx::Function& function = *code.function;
  std::vector<bool> read(function.registers.size());
  for (const ptx::Instruction& instruction : function.instructions)
    if (instruction.form())
      for (size_t i = ptx::first_source(instruction); i < instruction.operands.size(); ++i)
        ptx::for_each_register(instruction.operands[i], [&](uint32_t reg, bool) { read[reg] = true; });
  for (const ptx::Instruction& instruction : function.instructions) {
    bool taken = false;
    if (instruction.form() && ptx::first_source(instruction) == 1)
      ptx::for_each_register(instruction.operands[0], [&](uint32_t reg, bool) { taken |= read[reg]; });
    taken_.push_back(taken);
  }
}

} // namespace lemma::check

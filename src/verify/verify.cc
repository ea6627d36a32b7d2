// Walks a module and applies the rules of the other files.
#include "verify/verify.h"

#include "verify/verifier.h"

#include <algorithm>

namespace lemma::verify {

Diagnostics verify(const Module& module) {
  Diagnostics diagnostics;
  Context context{module, {}, {module.version.major, module.version.minor}, diagnostics, {}};
  if (!module.targets.empty())
    if (const auto target = isa::parse_target(module.targets.front()))
      context.target = *target;
  for (const Function& function : module.functions)
    context.functions.emplace(function.name, &function);
  check_module(context);
  isa::OperandShapes shapes;
  for (const Function& function : module.functions)
    for (const Instruction& instruction : function.instructions)
      if (!context.is_full())
        check_instruction(context, function, instruction, shapes);
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return diagnostics;
}

} // namespace lemma::verify

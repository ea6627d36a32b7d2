// Each function with a body, each rule. See lint.h.
#include "verify/lint.h"

#include "verify/lint_function.h"

#include <algorithm>

namespace lemma::verify {

Diagnostics lint(const ptx::Module& module) {
  Diagnostics found;
  for (const ptx::Function& function : module.functions) {
    if (!function.has_body || function.instructions.empty())
      continue;
    LintFunction view(module, function, found);
    if (!view.flow.has_successors)
      continue;
    lint_wgmma(view);
    lint_async(view);
    lint_tensor(view);
    lint_warps(view);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return found;
}

} // namespace lemma::verify

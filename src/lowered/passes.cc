// The table of passes.def with what runs each.
#include "lowered/passes.h"

#include "lowered/constants.h"
#include "lowered/copies.h"
#include "lowered/divisors.h"
#include "lowered/loops.h"
#include "lowered/matrix_runs.h"
#include "lowered/unwritten.h"
#include "lowered/wgmma.h"

namespace lemma::lowered {

std::span<const Pass> passes() {
  static constexpr Pass kPasses[] = {
#define PASS(name, function) {#name, function},
#include "lowered/passes.def"
  };
  return kPasses;
}

void run_passes(Function& function) {
  for (const Pass& pass : passes())
    pass.run(function);
}

} // namespace lemma::lowered

// The passes over a lowered function, in their order (passes.def). Each is a function that finds something
// out and notes it in the program; its header says what, its file why that is so.
//
// Tests: tests/unit/lowered, a file a pass.
#pragma once

#include "lowered/program.h"

#include <span>
#include <string_view>

namespace lemma::lowered {

struct Pass {
  std::string_view name; // as passes.def has it
  void (*run)(Function& function);
};
std::span<const Pass> passes();

void run_passes(Function& function);

} // namespace lemma::lowered

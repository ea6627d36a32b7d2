// What can be told of races and misuse without a run: a pass over the flow of each function of a module that
// is legal. Each finding has an id of the checker of `lemma run --check`, and docs/checks.md says which of
// them are looked for here.
//
// A finding is one where every path says so, or nearly: of a condition that it does not understand this
// assumes what makes the program right. What is silent here may be wrong; that takes a run.
//
// Tests: tests/verify/lint_test.cc.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"

namespace lemma::verify {

// Warnings, in the order of the text; a hundred at most. The module has no errors. A function that would take
// too much is left out.
Diagnostics lint(const ptx::Module& module);

} // namespace lemma::verify

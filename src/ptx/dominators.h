// Which blocks of a function every path comes through: on the way to a block, or from it to the function's
// end.
//
// K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
//
// Tests: tests/unit/ptx/flow_test.cc, tests/verify/lint_test.cc.
#pragma once

#include "ptx/flow.h"

#include <cstdint>
#include <vector>

namespace lemma::ptx {

// Of each block the last one that every path from the function's entry to it comes through; of the first
// block that itself; kNone: no path leads there.
std::vector<uint32_t> dominators(const Flow& flow);

// Of each block the first one that every path from it comes through. The number of blocks stands for the end
// of the function, of which that is itself; kNone for a block from which no path leads there.
std::vector<uint32_t> post_dominators(const Flow& flow);

} // namespace lemma::ptx

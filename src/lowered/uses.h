// How often registers are read.
//
// Tests: tests/unit/lowered/copies_test.cc.
#pragma once

#include "lowered/program.h"

#include <vector>

namespace lemma::lowered {

// By register; those of parameters and results count as more than once.
std::vector<uint32_t> count_reads(const Function& function);

} // namespace lemma::lowered

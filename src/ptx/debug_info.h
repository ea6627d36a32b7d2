// What .debug_info says of functions: the names that the source gives their parameters. `nvcc -G` and LLVM's
// -g write it, as DWARF 2 to 4; -lineinfo does not.
//
// Not here: everything else in it - types, variables, ranges -, and other versions: nothing is read of them.
// A hostile section costs time in its length.
//
// DWARF 4, sections 2 and 7. Tests: tests/unit/ptx/debug_info_test.cc.
#pragma once

#include "ptx/module.h"

#include <map>
#include <string>
#include <vector>

namespace lemma::ptx {

// By index into Module::functions, the names in order; a name may be empty.
std::map<size_t, std::vector<std::string>> source_parameters(const Module& module);

} // namespace lemma::ptx

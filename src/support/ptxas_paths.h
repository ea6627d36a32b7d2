// Where NVIDIA's assembler may be installed: the one search for it, of the CUDA device and of the tests.
//
// Tests: tests/unit/support/ptxas_paths_test.cc.
#pragma once

#include <string>
#include <vector>

namespace lemma {

// What $PTXAS names, unasked whether it is there, and nothing else; an empty $PTXAS: none. Without that
// variable every ptxas in a folder of $PATH, in that order, then the toolkit's in /usr/local/cuda/bin. Files
// that are one behind their links are named once.
std::vector<std::string> ptxas_paths();

} // namespace lemma

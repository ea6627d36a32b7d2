// Where a kernel's parameters lie, and when two functions have the same.
//
// PTX ISA: "Kernel Function Parameters", "Parameter State Space".
// Tests: tests/unit/runtime/kernel_info_test.cc, tests/verify (parameter-size, declaration-differs,
// alias-alignment).
#pragma once

#include "ptx/module.h"

#include <cstdint>
#include <vector>

namespace lemma::ptx {

struct ParameterLayout {
  std::vector<uint64_t> offsets; // by Function::params
  uint64_t bytes = 0;            // up to the end of the last; UINT64_MAX: more than there are addresses
};

// Each parameter of an entry begins at the next multiple of its alignment.
ParameterLayout lay_out_parameters(const Function& entry);

// As a declaration and its definition, or an alias and its function, must agree: in spaces, types, sizes and
// alignments, one by one, of parameters and of results.
bool same_parameters(const Function& a, const Function& b);

} // namespace lemma::ptx

// What the attributes of a variable mean.
//
// PTX ISA: "Attributes". Tests: tests/unit/runtime/api_test.cc.
#pragma once

#include "ptx/module.h"

#include <algorithm>

namespace lemma::ptx {

// .attribute(.managed): memory that the host uses by the same address.
inline bool is_managed(const Variable& variable) {
  return std::find(variable.attributes.begin(), variable.attributes.end(), ".managed") !=
         variable.attributes.end();
}

} // namespace lemma::ptx

// PTX text checked against the PTX ISA, without a device.
//
// Tests: tests/unit/runtime/api_test.cc, tests/verify/, tests/cli/.
#pragma once

#include "lemma/message.h"

#include <string>
#include <vector>

namespace lemma {

struct Verification {
  bool accepted = false;         // the assembler for the text's .target would take it; warnings do not matter
  std::vector<Message> messages; // in the order of the text
  // Pairs of mul and add or sub without .rn that ptxas may make one fma of: where it does, a GPU's bits are
  // not those of the virtual GPU. A warning at each add; none unless `accepted`.
  std::vector<Message> fusions;
};

// Checks PTX text against the PTX ISA for its own .target and .version. `name` is for the messages.
Verification verify_ptx(std::string text, std::string name = "<ptx>");

} // namespace lemma

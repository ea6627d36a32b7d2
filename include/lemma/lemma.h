// Lemma's public C++ API. Standard library only; C++20. Functions live in namespace lemma; errors are
// returned.
//
//   lemma/device.h   devices, memory, modules, launches
//   lemma/report.h   what a launch has to say
//   lemma/message.h  messages about PTX text, errors
//   lemma/npy.h      .npy files
//   lemma/result.h   a value or an error
//
// lemma/c.h is a C API over it. Link with the CMake target lemma::lemma.
//
// Tests: tests/unit/runtime/, tests/package/.
#pragma once

#include "lemma/device.h"
#include "lemma/message.h"
#include "lemma/npy.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// "0.1.0"
std::string_view version();

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

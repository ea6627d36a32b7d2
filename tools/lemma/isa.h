// What `lemma isa` shares between its parts.
//
// Tests: tests/cli/.
#pragma once

#include "command.h"

#include <string>
#include <vector>

namespace lemma::cli {

struct IsaOptions {
  std::vector<std::string> words; // a filter, or a name
  bool all = false;               // the other instructions too
  bool json = false;
  bool markdown = false;
  bool nvgpu = false; // the dialect's operations instead
};

} // namespace lemma::cli

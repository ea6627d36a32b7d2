// Which forms of instructions a real GPU has been asked about: the recorded cases of tests/golden that
// execute them. Counted when Lemma is built (tools/record/record_index.cc), so that the tool knows them
// wherever it is installed.
//
// Tests: tests/cli/.
#pragma once

#include "isa/catalogue.h"
#include "isa/form.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::cli {

struct Checked {
  std::string gpu; // "NVIDIA H200"; empty: no hardware has checked it
  uint64_t cases = 0;
  uint64_t outputs = 0;             // that these cases store and a record holds, by hash or whole
  std::vector<std::string> records; // "sm_90a/mma"

  bool any() const { return cases > 0; }
};

// Of a row: the cases whose kernels contain one of its spellings.
Checked checked_on_hardware(const isa::MatrixRow& row);
// Of any other form: the cases named by one of its spellings.
Checked checked_on_hardware(const isa::Form& form);

// "H200, 4 cases"; "not checked on hardware".
std::string to_string(const Checked& checked);

} // namespace lemma::cli

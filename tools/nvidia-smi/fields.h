// What --query-gpu can ask for.
//
// Tests: tests/nvml/nvml_test.py.
#pragma once

#include "nvml/api.h"

#include <string>
#include <string_view>

namespace lemma::smi {

struct Field {
  std::string_view name;  // of nvidia-smi's
  std::string_view other; // another one; empty: none
  std::string_view unit;  // "MiB"; empty: none
  // Empty: NVML does not say.
  std::string (*value)(nvmlDevice_t device);
};

// Null: there is none of that name.
const Field* find_field(std::string_view name);

// The value by the name of its field; "[N/A]" if there is none.
std::string value_of(std::string_view field, nvmlDevice_t device);

} // namespace lemma::smi

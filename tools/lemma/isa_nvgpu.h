// `lemma isa --nvgpu [WORD...]`: what each form of the nvgpu dialect's operations can do.
//
// Tests: tests/cli/, tests/mlir/matrix/.
#pragma once

#include <string>
#include <vector>

namespace lemma::cli {

// Prints the forms that all words fit: parts of an operation, types, shape, form, instruction or target.
// Returns an ExitStatus.
int print_nvgpu_support(const std::vector<std::string>& words, bool json);

} // namespace lemma::cli

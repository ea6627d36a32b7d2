// What a file that is no PTX is instead, told by its content, and how to get PTX of it.
//
// Tests: tests/unit/ptx/foreign_test.cc, tests/cli/verify_cli_test.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lemma::ptx {

struct Foreign {
  std::string what; // "CUDA C++"
  std::string fix;  // "compile it: nvcc -ptx ..."
};

// None for a text that begins as PTX does, and for one of which nothing is known.
std::optional<Foreign> recognise_foreign(std::string_view text);

} // namespace lemma::ptx

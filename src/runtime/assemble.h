// PTX text made into machine code by a ptxas that is installed, for a driver whose own assembler is older
// than the text. Nothing here looks into what is made: the driver loads it.
//
// Tests: tests/unit/runtime/newer_ptx_test.cc.
#pragma once

#include "lemma/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::runtime {

// The PTX version that an assembler takes at most, as it says when it refuses a text: "9.0" of
// "Unsupported .version 9.5; current version is '9.0'"; empty: it does not say.
std::string newest_ptx_in(std::string_view log);

struct Assembled {
  std::string cubin;
  std::string by; // "/usr/local/cuda/bin/ptxas 13.5.37"
};

// By the first of `paths` (ptxas_paths()) that takes the text, for `arch` ("sm_90a"); `optimization` is
// LoadOptions'. Error: a line for each of `paths` that says why not.
Result<Assembled, std::vector<std::string>> assemble(const std::vector<std::string>& paths,
                                                     std::string_view ptx, const std::string& arch,
                                                     unsigned optimization);

} // namespace lemma::runtime

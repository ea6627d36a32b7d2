// PTX text to a typed module.
//
// Accepts what ptxas accepts; whatever is wrong is reported with its place, and parsing goes on after the
// statement, so that one run shows every error. Never throws, never recurses deeper than a fixed limit, and
// its memory is bounded by the text's length (a huge `<N>` or array is an error or a number, not an
// allocation), and by a limit that the caller may give.
//
// Tests: tests/unit/ptx/, tests/fuzz/.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"

#include <memory>

namespace lemma::ptx {

struct ParseOutcome {
  std::unique_ptr<Module> module; // never null; of use only if !has_errors(diagnostics)
  Diagnostics diagnostics;        // in the order of the text
  uint64_t memory_bytes = 0;      // what the module takes, about, with its text
};

// A module that takes more than `most_bytes`, with its text, is an error.
ParseOutcome parse(std::shared_ptr<const SourceText> source, uint64_t most_bytes = UINT64_MAX);

} // namespace lemma::ptx

// PTX text to a module that is legal, or the messages that say why it is none: what loading, verifying and
// linking share.
//
// Tests: tests/unit/runtime/api_test.cc, link_test.cc.
#pragma once

#include "lemma/message.h"
#include "ptx/module.h"
#include "ptx/parser.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lemma::runtime {

// What the parser and the verifier say, in the order of the text.
ptx::ParseOutcome diagnose(const std::shared_ptr<const SourceText>& source, uint64_t most_bytes);

struct Checked {
  // Null where the text is not legal. Of a text with `unsupported` messages nobody knows; what they are about
  // is not in the module, or is an instruction without a form.
  std::shared_ptr<const ptx::Module> module;
  uint64_t module_bytes = 0; // what it takes, with its text
  std::vector<Message> messages;
};

// `most_bytes`: of memory, for the module and its text.
Checked check_text(std::string text, std::string name, uint64_t most_bytes);

// Why a text with these messages does not load: illegal before unsupported before our own bugs. "memory" is
// the parser's word for a module that is larger than the device allows.
Error load_error(std::vector<Message> messages);

} // namespace lemma::runtime

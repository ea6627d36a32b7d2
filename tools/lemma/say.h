// What a command says about itself: "lemma: TEXT" on standard error.
//
// Tests: tests/cli/.
#pragma once

#include <string>

namespace lemma::cli {

// One line or several. What a terminal would obey is escaped: file names and words of the command line are in
// it.
void say(const std::string& text);

} // namespace lemma::cli

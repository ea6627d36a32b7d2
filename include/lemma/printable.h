// Text from outside - file names, source lines, identifiers, the command line - as messages show it: nothing
// in it can move the cursor, clear the screen, or turn the order of what a terminal shows.
//
//   "\x1b[31m"  \x1b[31m   control characters, and bytes that are no UTF-8: the byte
//   U+202E      \u{202e}   bidirectional and other invisible controls beyond ASCII: the code point
//
// All else, UTF-8 included, stays as it is; so text that was escaped once is not escaped again.
//
// What a kernel prints is the program's own output, and not for these functions.
//
// Tests: tests/unit/support/printable_test.cc, tests/cli/.
#pragma once

#include <string>
#include <string_view>

namespace lemma {

// For one line: newlines and tabs are escaped too.
std::string printable(std::string_view text);
// Newlines and tabs stay.
std::string printable_lines(std::string_view text);

} // namespace lemma

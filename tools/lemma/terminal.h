// Text for a terminal: lines are broken between words where it ends, and messages are in colour - the place
// and what is wrong, the marks under a source line, the labels of notes. A file or a pipe gets the text as it
// is, and nothing is in colour where the environment says NO_COLOR or TERM=dumb.
//
// Tests: tests/cli/terminal_cli_test.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace lemma::cli {

// Whether what is written there may be in colour.
bool takes_color(std::FILE* file);

// How many characters a line of the terminal has that is written to; 0: it is none, or does not say.
size_t columns_of(std::FILE* file);

// The text with every line that is longer broken between words; what follows is indented. Lines of source,
// and words that are too long, stay whole; a command goes on after a backslash. 0: all as it is.
std::string broken(std::string_view text, size_t columns);

// A text that the library has rendered, of as many messages as there are, with escape codes; nothing else
// changes.
std::string in_color(std::string_view rendered);

// Writes what people read: broken, and messages in colour, as the terminal has it.
void print_text(std::FILE* file, std::string_view text);
void print_messages(std::FILE* file, std::string_view rendered);

} // namespace lemma::cli

// Text may hold names from the command line; it is escaped here, but for line ends.
#include "say.h"

#include "terminal.h"

#include "lemma/printable.h"

#include <fmt/format.h>

#include <cstdio>

namespace lemma::cli {

void say(const std::string& text) {
  print_messages(stderr, fmt::format("lemma: {}\n", printable_lines(text)));
}

} // namespace lemma::cli

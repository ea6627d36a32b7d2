#include "say.h"

#include "support/printable.h"

#include <fmt/format.h>

#include <cstdio>

namespace lemma::cli {

void say(const std::string& text) {
  fmt::print(stderr, "lemma: {}\n", printable_lines(text));
}

} // namespace lemma::cli

// Text from outside as messages show it: lemma/printable.h; and lines of it with marks below.
//
// Tests: tests/unit/support/printable_test.cc, tests/cli/.
#pragma once

#include "lemma/printable.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace lemma {

// A source line, and the marks that stand under `length` bytes of it from `column` (0-based) on. Tabs before
// them are kept, so that they stand under their text; a long line is cut around them.
struct Excerpt {
  std::string line, marks;
};
Excerpt excerpt(std::string_view line, size_t column, size_t length);

} // namespace lemma

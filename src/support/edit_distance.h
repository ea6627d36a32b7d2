// How far apart two words are, for messages about words that nobody knows.
//
// Tests: tests/unit/support/diagnostic_test.cc.
#pragma once

#include <cstddef>
#include <string_view>

namespace lemma {

// Insertions, deletions, substitutions and swaps of neighbours: "fzt" is one from "ftz". Takes as long as the
// lengths multiplied.
size_t edit_distance(std::string_view a, std::string_view b);

// Whether the first is the second misspelt: within two edits, and no more than one for each
// `letters_per_edit` letters of it, but for one. None for itself.
bool is_misspelt(std::string_view word, std::string_view known, size_t letters_per_edit);

} // namespace lemma

// The distance of Damerau and Levenshtein, row by row (optimal string alignment).
#include "support/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lemma {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1); // the row before the one before
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

bool is_misspelt(std::string_view word, std::string_view known, size_t letters_per_edit) {
  constexpr size_t kMostEdits = 2;
  const size_t most = std::clamp<size_t>(word.size() / letters_per_edit, 1, kMostEdits);
  if (word == known || word.size() > known.size() + most || known.size() > word.size() + most)
    return false;
  return edit_distance(word, known) <= most;
}

} // namespace lemma

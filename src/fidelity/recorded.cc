// The tables are recorded_cases.inc, which the build makes: indices into the catalogue in ascending order,
// found by binary search. Included twice, once for rows and once for forms.
#include "fidelity/recorded.h"

#include <algorithm>
#include <string_view>

namespace lemma::fidelity {
namespace {

struct Entry {
  ptrdiff_t index; // in the catalogue
  const char* gpu;
  uint64_t cases, outputs;
  const char* records; // with spaces between them
};

// In ascending order, as tools/record/record_index.cc writes them. An entry of no index ends each, so that
// they are not empty when nothing is recorded.
constexpr Entry kRows[] = {
#define ROW(...) {__VA_ARGS__},
#define FORM(...)
#include "recorded_cases.inc"
#undef ROW
#undef FORM
    {PTRDIFF_MAX, "", 0, 0, ""}};
constexpr Entry kForms[] = {
#define ROW(...)
#define FORM(...) {__VA_ARGS__},
#include "recorded_cases.inc"
#undef ROW
#undef FORM
    {PTRDIFF_MAX, "", 0, 0, ""}};

HardwareCheck find(std::span<const Entry> entries, ptrdiff_t index) {
  const auto entry = std::lower_bound(entries.begin(), entries.end(), index,
                                      [](const Entry& e, ptrdiff_t i) { return e.index < i; });
  HardwareCheck checked;
  if (entry == entries.end() || entry->index != index)
    return checked;
  checked = {.gpu = entry->gpu, .cases = entry->cases, .outputs = entry->outputs, .records = {}};
  for (std::string_view rest = entry->records; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    checked.records.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return checked;
}

} // namespace

HardwareCheck checked_on_hardware(const isa::MatrixRow& row) {
  return find(kRows, &row - isa::matrix_rows().data());
}

HardwareCheck checked_on_hardware(const isa::Form& form) {
  return find(kForms, &form - isa::forms().data());
}

} // namespace lemma::fidelity

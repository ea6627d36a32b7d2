// Findings of checked launches. See include/lemma/findings.h.
#include "lemma/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lemma {
namespace {

constexpr FindingKind kKinds[] = {
#define FINDING(id, summary) {id, summary},
#define STREAM_FINDING FINDING
#include "check/ids.def"
#undef STREAM_FINDING
#undef FINDING
};

// "2 findings"
std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool same_place(const Place& a, const Place& b) {
  return a.ptx_line == b.ptx_line && a.instruction == b.instruction && a.line == b.line && a.file == b.file;
}

// Which of the two accesses comes first is up to the schedule.
bool same_defect(const Finding& a, const Finding& b) {
  if (a.id != b.id || a.is_note != b.is_note || a.ptx != b.ptx ||
      a.earlier.has_value() != b.earlier.has_value())
    return false;
  if (!a.earlier)
    return same_place(a.access.place, b.access.place);
  return (same_place(a.access.place, b.access.place) && same_place(a.earlier->place, b.earlier->place)) ||
         (same_place(a.access.place, b.earlier->place) && same_place(a.earlier->place, b.access.place));
}

} // namespace

std::string to_text(const CheckedAccess& access) {
  std::string text = access.what;
  if (access.address)
    text += fmt::format(" at {:#x}", *access.address);
  return access.value.empty() ? text : text + ": " + access.value;
}

FindingCounts count(std::span<const Finding> findings) {
  FindingCounts counts;
  for (const Finding& finding : findings)
    ++(finding.suppressed ? counts.suppressed : finding.is_note ? counts.notes : counts.errors);
  return counts;
}

std::string to_text(const FindingCounts& counts) {
  std::string text = counts.errors ? counted(counts.errors, "finding") : "no findings";
  if (counts.notes)
    text += ", " + counted(counts.notes, "note");
  if (counts.suppressed)
    text += fmt::format(", {} suppressed", counts.suppressed);
  return text;
}

std::string to_text(std::span<const Finding> findings, const FindingsView& view) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.suppressed || (finding.is_note && !view.notes))
      continue;
    text += finding.rendered;
    if (finding.count > 1)
      text += fmt::format("  count:   {} times\n", finding.count);
    if (finding.schedules > 0)
      text += fmt::format("  in:      {}, first in schedule {}\n", counted(finding.schedules, "schedule"),
                          finding.schedule);
  }
  return text;
}

void merge(std::vector<Finding>& into, std::span<const Finding> more) {
  for (const Finding& finding : more) {
    const auto same = std::find_if(into.begin(), into.end(),
                                   [&](const Finding& known) { return same_defect(known, finding); });
    if (same != into.end()) {
      same->count += finding.count;
      same->schedules += finding.schedules;
    } else {
      into.push_back(finding);
    }
  }
}

std::span<const FindingKind> finding_kinds() {
  return kKinds;
}

} // namespace lemma

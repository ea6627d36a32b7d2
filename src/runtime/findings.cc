// Findings of checked launches. See include/lemma/findings.h.
#include "lemma/findings.h"

#include "lemma/suppressions.h"
#include "runtime/kernel_names.h"
#include "runtime/places.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

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

// Which of the two accesses comes first is up to the schedule, but a library's entry may be for one order
// alone.
bool same_defect(const Finding& a, const Finding& b) {
  if (a.id != b.id || a.is_note != b.is_note || a.ptx != b.ptx ||
      a.earlier.has_value() != b.earlier.has_value())
    return false;
  if (!a.earlier)
    return same_place(a.access.place, b.access.place);
  return (same_place(a.access.place, b.access.place) && same_place(a.earlier->place, b.earlier->place)) ||
         (same_place(a.access.place, b.earlier->place) && same_place(a.earlier->place, b.access.place) &&
          library_suppression_of(a) == library_suppression_of(b));
}

// "a", "a and 2 more"; of what differs.
std::string first_of(std::vector<std::string> texts, size_t most) {
  std::string text;
  std::vector<std::string> unlike;
  for (std::string& each : texts)
    if (!each.empty() && std::ranges::find(unlike, each) == unlike.end())
      unlike.push_back(std::move(each));
  for (size_t i = 0; i < std::min(most, unlike.size()); ++i)
    text += (i == 0 ? "" : ", ") + unlike[i];
  return unlike.size() > most ? text + fmt::format(" and {} more", unlike.size() - most) : text;
}

bool differ(const std::vector<std::string>& texts) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return text != texts.front(); });
}

// "tile + 0x40": "tile".
std::string variable_of(const std::string& memory) {
  return memory.substr(0, memory.find(" + "));
}

using Line = std::pair<std::string, uint32_t>; // of a file

// The user's own, else of the PTX.
Line line_of(const Place& place, const Finding& finding) {
  const auto [file, line] = runtime::users_line(place, finding.ptx);
  return {file.substr(file.rfind('/') + 1), line};
}

std::set<Line> lines_of(const Finding& finding) {
  std::set<Line> lines = {line_of(finding.access.place, finding)};
  if (finding.earlier)
    lines.insert(line_of(finding.earlier->place, finding));
  return lines;
}

// "lines 11 to 41, 50 of a.cu; line 7 of b.cuh"
std::string lines_text(const std::set<Line>& lines) {
  constexpr size_t kRanges = 12; // of a file
  std::string text;
  for (auto at = lines.begin(); at != lines.end();) {
    const std::string& file = at->first;
    std::vector<std::string> ranges;
    size_t count = 0;
    for (; at != lines.end() && at->first == file; ++count) {
      const uint32_t first = at->second;
      uint32_t last = first;
      for (++at; at != lines.end() && at->first == file && at->second == last + 1; ++at, ++count)
        ++last;
      ranges.push_back(first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last));
    }
    text += fmt::format("{}line{} {} of {}", text.empty() ? "" : "; ", count == 1 ? "" : "s",
                        first_of(std::move(ranges), kRanges), file);
  }
  return text;
}

// The first member, and what of the others differs.
std::string text_of(const FindingGroup& group, std::span<const Finding> findings) {
  constexpr size_t kVariables = 6, kKernels = 3;
  const Finding& first = findings[group.members.front()];
  std::string text = first.rendered;
  std::set<Line> lines;
  std::vector<std::string> variables, kernels;
  uint64_t schedule = first.schedule, schedules = 0;
  for (const size_t member : group.members) {
    const Finding& each = findings[member];
    lines.merge(lines_of(each));
    variables.push_back(variable_of(each.memory));
    kernels.push_back(printable(runtime::brief_name(each.kernel)));
    schedule = std::min(schedule, each.schedule);
    schedules = std::max(schedules, each.schedules);
  }
  const auto add = [&](const char* label, const std::string& what) {
    if (!what.empty())
      text += fmt::format("  {:<8} {}\n", label, printable(what));
  };
  for (const Line& shown : lines_of(first))
    lines.erase(shown);
  add("repair:", to_text(group.repairs, first.ptx));
  for (const std::vector<FindingRepair>& other : group.alternatives)
    add("or:", to_text(other, first.ptx));
  add("also:", lines_text(lines));
  if (differ(variables))
    add("memory:", first_of(std::move(variables), kVariables));
  if (differ(kernels))
    add("kernels:", first_of(std::move(kernels), kKernels));
  std::string count = group.count > 1 ? fmt::format("{} times", group.count) : "";
  if (group.members.size() > 1)
    count += fmt::format(", by {} {}", group.members.size(),
                         first.earlier ? "pairs of instructions" : "instructions");
  if (schedules > 0)
    count += fmt::format("{}in {}, first in schedule {}", count.empty() ? "" : ", ",
                         counted(schedules, "schedule"), schedule);
  add("count:", count);
  return text;
}

} // namespace

std::string to_text(const CheckedAccess& access) {
  std::string text = access.what;
  if (access.address)
    text += fmt::format(" at {:#x}", *access.address);
  return access.value.empty() ? text : text + ": " + access.value;
}

namespace {

// "st.shared.u32" of "@%p0 st.shared.u32 [%a], %t;".
std::string opcode_of(const std::string& statement) {
  constexpr const char* kSpace = " \t";
  size_t begin = 0;
  if (statement.starts_with('@'))
    begin = std::min(statement.find_first_not_of(kSpace, statement.find_first_of(kSpace)), statement.size());
  return statement.substr(begin, statement.find_first_of(" \t;", begin) - begin);
}

// "st.release.gpu.u32 for st.u32", "64 for 32 in mbarrier.init.shared.b64 [full], 32;", "no mov.u32 %r1, 2;".
std::string in_place(const std::string& what, const FindingRepair& repair) {
  if (what.empty())
    return "no " + repair.replaced.substr(0, repair.replaced.find_last_not_of(' ') + 1);
  std::string text = what + " for " + repair.replaced;
  if (repair.replaced != opcode_of(repair.place.instruction))
    text += " in " + repair.place.instruction;
  return text;
}

} // namespace

std::string to_text(const std::vector<FindingRepair>& repairs, const std::string& ptx) {
  std::string text;
  for (const FindingRepair& repair : repairs) {
    std::string what;
    for (const char c : repair.edit.text) // statements in a line, without the indentation
      if (c != '\n' && c != ' ' && c != '\t')
        what += c;
      else if (!what.empty() && what.back() != ' ')
        what += ' ';
    while (what.ends_with(' '))
      what.pop_back();
    if (repair.where == FindingRepair::Where::instead)
      what = in_place(what, repair);
    const std::string in_ptx = fmt::format("{}:{}", ptx, repair.place.ptx_line);
    const auto [file, line] = runtime::users_line(repair.place, ptx);
    const bool has_source = !frames_of(repair.place).empty();
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", what,
                        repair.where == FindingRepair::Where::instead ? "at" : to_string(repair.where),
                        has_source ? fmt::format("{}:{} ({})", file, line, in_ptx) : in_ptx);
  }
  return text;
}

FindingCounts count(std::span<const Finding> findings) {
  FindingCounts counts;
  for (const FindingGroup& each : group(findings))
    ++(each.suppressed ? counts.suppressed : each.is_note ? counts.notes : counts.errors);
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
  size_t shown = 0, left = 0;
  for (const FindingGroup& each : group(findings)) {
    if (each.suppressed || (each.is_note && !view.notes))
      continue;
    if (shown == view.most) {
      ++left;
      continue;
    }
    ++shown;
    text += text_of(each, findings);
  }
  return left ? text + fmt::format("and {} more: --all\n", left) : text;
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

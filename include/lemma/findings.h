// What to do with the findings of checked launches (Report::findings): count them, show them, say which of
// them are one defect, put those of several launches together; and the kinds that there are.
//
//   std::vector<Finding> all;
//   for (...) { report = kernel.launch({..., .check = true}, ...); merge(all, report->findings); }
//   std::cerr << to_text(all, {.notes = true});
//
// Tests: tests/unit/runtime/findings_test.cc, finding_groups_test.cc, tests/cli/check_cli_test.py.
#pragma once

#include "lemma/report.h"

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// Findings that one more instruction would mend together: of one id, with the same fix or with barriers of
// which the widest does for all, between statements of the source that they share, and with a place between
// the accesses of all of them. Unrolled and inlined code has many for one line.
struct FindingGroup {
  bool is_note = false, suppressed = false; // as all members
  std::vector<size_t> members;              // of the findings that were grouped; which to show comes first
  uint64_t count = 0;                       // how often they were seen, together
  std::vector<FindingRepair> repairs = {};  // of a member, that mend them all; empty: it takes more than that
  std::vector<std::vector<FindingRepair>> alternatives = {}; // to these: Finding::alternatives
};
// The worst first: errors, notes, what is suppressed; of each what was seen most often.
std::vector<FindingGroup> group(std::span<const Finding> findings);
// Of each finding, which of these groups it is in.
std::vector<size_t> group_numbers(std::span<const Finding> findings);

// Of groups: a defect counts once.
struct FindingCounts {
  size_t errors = 0; // neither notes nor suppressed
  size_t notes = 0;
  size_t suppressed = 0; // errors and notes
};
FindingCounts count(std::span<const Finding> findings);

// "no findings", "2 findings, 1 note, 3 suppressed".
std::string to_text(const FindingCounts& counts);

struct FindingsView {
  bool notes = false;                               // show notes too
  size_t most = std::numeric_limits<size_t>::max(); // groups; of more it says how many
};
// The findings for a terminal, a text for each group, but for those that are suppressed; empty if there are
// none.
std::string to_text(std::span<const Finding> findings, const FindingsView& view = {});

// What was done, where and with which value: "writes 4 bytes at 0x480: 0x00000021".
std::string to_text(const CheckedAccess& access);

// What is put where, or written in whose place: "bar.sync 0; before reduce.cu:12 (reduce.ptx:44)". `ptx`: the
// name of the text.
std::string to_text(const std::vector<FindingRepair>& repairs, const std::string& ptx);

// Adds the findings of a further launch. A defect that both have - the same id between the same instructions
// - stays one, and its counts are added.
void merge(std::vector<Finding>& into, std::span<const Finding> more);

// A kind of finding.
struct FindingKind {
  std::string_view id;      // "race.shared"
  std::string_view summary; // one line, without a full stop
};
// In the order of docs/checks.md.
std::span<const FindingKind> finding_kinds();

} // namespace lemma

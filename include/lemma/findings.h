// What to do with the findings of checked launches (Report::findings): count them, show them, put those of
// several launches together; and the kinds that there are.
//
//   std::vector<Finding> all;
//   for (...) { report = kernel.launch({..., .check = true}, ...); merge(all, report->findings); }
//   std::cerr << to_text(all, {.notes = true});
//
// Tests: tests/unit/runtime/findings_test.cc, tests/cli/check_cli_test.py.
#pragma once

#include "lemma/report.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

struct FindingCounts {
  size_t errors = 0; // neither notes nor suppressed
  size_t notes = 0;
  size_t suppressed = 0; // errors and notes
};
FindingCounts count(std::span<const Finding> findings);

// "no findings", "2 findings, 1 note, 3 suppressed".
std::string to_text(const FindingCounts& counts);

struct FindingsView {
  bool notes = false; // show notes too
};
// The findings for a terminal, but for those that are suppressed; empty if there are none.
std::string to_text(std::span<const Finding> findings, const FindingsView& view = {});

// What was done, where and with which value: "writes 4 bytes at 0x480: 0x00000021".
std::string to_text(const CheckedAccess& access);

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

// What `lemma-record --findings` has found: the memory model's checker on recorded cases. A case is defined,
// so there is nothing to find; or a suppressions file (lemma/suppressions.h) says why it is not.
//
//   CaseFindings found;
//   found.read_suppressions("tests/golden/undefined.txt");
//   found.add("tma/load", report.findings); ...
//   fmt::print("{}", found.closing_text());   // "10 cases checked: 1 finding, 2 notes, 3 suppressed"
//
// Tests: tests/golden/can_fail_test.sh.
#pragma once

#include "lemma/findings.h"
#include "lemma/suppressions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {

class CaseFindings {
public:
  explicit CaseFindings(bool notes) : notes_(notes) {}

  // Says on standard error what is wrong with the file.
  bool read_suppressions(const std::string& path);
  // Shows what is not suppressed. A case's findings are of one launch.
  void add(const std::string& case_name, std::vector<Finding> findings);

  bool has_errors() const { return counts_.errors > 0; }
  std::string closing_text() const;
  // A warning on standard error for each suppression that no case needs.
  void show_unused() const;

private:
  const bool notes_; // are shown
  std::optional<Suppressions> suppressions_;
  uint64_t cases_ = 0;
  FindingCounts counts_;
};

} // namespace lemma::cli

// What --check has found, over all launches of a run: suppressed, put together, shown, and in --json.
//
//   CheckOutput found({.check = true, .notes = o.notes, .suppress = o.suppress});
//   found.read_files(); ...; found.add(report.findings); ...; found.show();
//
// Tests: tests/cli/check_cli_test.py.
#pragma once

#include "stop.h"

#include "lemma/findings.h"
#include "lemma/suppressions.h"

#include <nlohmann/json_fwd.hpp>

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lemma::cli {

struct CheckOptions {
  bool check = false;
  bool notes = false, all = false; // shown
  std::string suppress, baseline;  // files; empty: none
  bool show_in_libraries = false;  // what library_suppressions.def has
};

class CheckOutput {
public:
  explicit CheckOutput(CheckOptions options) : options_(std::move(options)) {}

  // Suppressions, and findings of a run before. Before the run, which takes long.
  Result<void, Stop> read_files();
  // Of one launch.
  void add(std::vector<Finding> findings);
  // The two steps of that; the first from any thread.
  void suppress(std::vector<Finding>& findings);
  void add_suppressed(const std::vector<Finding>& findings) { merge(findings_, findings); }
  // Of how many CTAs, if not of all.
  void limit_to(uint64_t checked_ctas, uint64_t ctas);

  bool is_checking() const { return options_.check; }
  const std::vector<Finding>& findings() const { return findings_; }
  // Is there one that is neither a note nor suppressed?
  bool has_errors() const { return count(findings_).errors > 0; }

  // How many defects are suppressed because they are a library's.
  size_t count_in_libraries() const;
  // On standard error: the findings, and the suppressions that no finding needs.
  void show() const;
  // "races not checked", "checked: 2 findings, 1 note (--notes shows it)". `ended`: "ended by a fault", if
  // that is how a launch ended: what it had not come to was not checked.
  std::string closing_text(const std::string& ended = {}) const;
  // "races_checked", "findings", "finding_counts" and "suppressions".
  void add_to(nlohmann::json& object) const;

private:
  CheckOptions options_;
  std::optional<Suppressions> suppressions_;
  std::set<std::string> known_; // fingerprints of the baseline
  std::mutex suppressing_;
  uint64_t checked_ctas_ = 0, ctas_ = 0; // equal: all
  std::vector<Finding> findings_;
};

} // namespace lemma::cli

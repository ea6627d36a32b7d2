// Findings of cases, suppressed, shown and counted as their launches end. Tests:
// tests/golden/can_fail_test.sh.
#include "case_findings.h"

#include "files.h"
#include "say.h"

#include <fmt/format.h>

namespace lemma::cli {

bool CaseFindings::read_suppressions(const std::string& path) {
  const auto text = read_text(path);
  if (!text) {
    say(text.error());
    return false;
  }
  auto parsed = Suppressions::parse(*text, path);
  if (!parsed) {
    for (const Message& message : parsed.error().messages)
      fmt::print(stderr, "{}", message.rendered);
    return false;
  }
  suppressions_ = *std::move(parsed);
  return true;
}

void CaseFindings::add(const std::string& case_name, std::vector<Finding> findings) {
  ++cases_;
  if (suppressions_)
    suppressions_->apply(findings);
  const FindingCounts counts = count(findings);
  counts_.errors += counts.errors;
  counts_.notes += counts.notes;
  counts_.suppressed += counts.suppressed;
  if (const std::string text = to_text(findings, {.notes = notes_}); !text.empty())
    fmt::print("{}:\n{}", case_name, text);
}

std::string CaseFindings::closing_text() const {
  return fmt::format("{} cases checked: {}", cases_, to_text(counts_));
}

void CaseFindings::show_unused() const {
  if (!suppressions_)
    return;
  for (const Message& message : suppressions_->unused())
    fmt::print(stderr, "{}", message.rendered);
}

} // namespace lemma::cli

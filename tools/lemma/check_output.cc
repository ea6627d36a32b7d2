// Findings are put together as launches end; suppressions apply before, so that their counts are of launches.
#include "check_output.h"

#include "files.h"
#include "json_output.h"
#include "sarif.h"
#include "terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace lemma::cli {
namespace {

constexpr size_t kFirstFindings = 10;

} // namespace

Result<void, Stop> CheckOutput::read_files() {
  if (const char* option = options_.notes               ? "--notes"
                           : options_.all               ? "--all"
                           : !options_.suppress.empty() ? "--suppress"
                           : !options_.baseline.empty() ? "--baseline"
                           : options_.show_in_libraries ? "--no-library-suppressions"
                                                        : nullptr;
      option && !options_.check)
    return usage(fmt::format("{} is about findings: it needs --check", option));
  if (!options_.baseline.empty()) {
    auto prints = read_fingerprints(options_.baseline);
    if (!prints)
      return usage(std::move(prints).error());
    known_ = *std::move(prints);
  }
  if (options_.suppress.empty())
    return {};
  const auto text = read_text(options_.suppress);
  if (!text)
    return usage(text.error());
  auto parsed = Suppressions::parse(*text, options_.suppress);
  if (!parsed)
    return fail(Stop{kUsage, std::move(parsed).error()});
  suppressions_ = *std::move(parsed);
  return {};
}

void CheckOutput::add(std::vector<Finding> findings) {
  suppress(findings);
  add_suppressed(findings);
}

void CheckOutput::suppress(std::vector<Finding>& findings) {
  const std::lock_guard lock(suppressing_);
  if (suppressions_)
    suppressions_->apply(findings);
  for (Finding& finding : findings)
    if (!known_.empty() && !finding.suppressed && known_.contains(fingerprint(finding))) {
      finding.suppressed = true;
      finding.suppressed_because = "known: " + options_.baseline;
    }
  if (!options_.show_in_libraries)
    suppress_in_libraries(findings);
}

size_t CheckOutput::count_in_libraries() const {
  std::vector<Finding> in_libraries;
  std::ranges::copy_if(findings_, std::back_inserter(in_libraries), is_suppressed_in_library);
  return count(in_libraries).suppressed;
}

void CheckOutput::limit_to(uint64_t checked_ctas, uint64_t ctas) {
  checked_ctas_ = checked_ctas;
  ctas_ = ctas;
}

void CheckOutput::show() const {
  FindingsView view{.notes = options_.notes};
  if (!options_.all)
    view.most = kFirstFindings;
  print_messages(stderr, to_text(findings_, view));
  if (!suppressions_)
    return;
  for (const Message& message : suppressions_->unused())
    print_messages(stderr, message.rendered);
}

std::string CheckOutput::closing_text(const std::string& ended) const {
  if (!options_.check)
    return (ended.empty() ? "" : ended + "; ") + std::string("races not checked");
  FindingCounts counts = count(findings_);
  const size_t in_libraries = count_in_libraries();
  counts.suppressed -= in_libraries;
  std::vector<std::string> more;
  if (counts.notes && !options_.notes)
    more.emplace_back(counts.notes == 1 ? "--notes shows the note" : "--notes shows the notes");
  if (in_libraries > 0)
    more.push_back(fmt::format("{} in libraries {} suppressed, --no-library-suppressions shows {}",
                               in_libraries, in_libraries == 1 ? "is" : "are",
                               in_libraries == 1 ? "it" : "them"));
  std::string text = (ended.empty() ? "checked: " : ended + "; checked until then: ") + to_text(counts);
  if (!more.empty())
    text += fmt::format(" ({})", fmt::join(more, "; "));
  if (checked_ctas_ != ctas_)
    text += fmt::format(", of {} of {} CTAs", checked_ctas_, ctas_);
  return text;
}

void CheckOutput::add_to(nlohmann::json& object) const {
  using nlohmann::json;
  const FindingCounts counts = count(findings_);
  object["races_checked"] = options_.check;
  object["findings"] = to_json(findings_);
  object["finding_counts"] = {{"errors", counts.errors},
                              {"notes", counts.notes},
                              {"suppressed", counts.suppressed},
                              {"suppressed_in_libraries", count_in_libraries()}};
  object["checked_ctas"] = checked_ctas_ != ctas_ ? json{{"checked", checked_ctas_}, {"of", ctas_}} : json();
  object["suppressions"] = nullptr;
  if (!suppressions_)
    return;
  json entries = json::array();
  for (const Suppression& entry : suppressions_->entries())
    entries.push_back({{"line", entry.line}, {"id", entry.id}, {"why", entry.why}, {"used", entry.used}});
  object["suppressions"] = {{"file", suppressions_->name()}, {"entries", std::move(entries)}};
}

} // namespace lemma::cli

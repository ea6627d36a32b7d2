// One result a finding. Rules are those that results name, so that a list of them is what was found. Text of
// programs goes in as it is: JSON escapes it, and what shows it must.
#include "sarif.h"

#include "files.h"

#include "lemma/lemma.h"
#include "lemma/process_reports.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <vector>

namespace lemma::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A path as a URI: relative to the working directory if it is under it.
std::string to_uri(const std::string& path) {
  std::error_code error;
  fs::path shown = fs::path(path).lexically_normal();
  if (shown.is_absolute()) {
    const fs::path inside = shown.lexically_relative(fs::current_path(error));
    if (!error && !inside.empty() && *inside.begin() != "..")
      shown = inside;
  }
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$&'()*+,;=@";
  std::string uri = shown.is_absolute() ? "file://" : "";
  for (const char c : shown.generic_string())
    uri += kPlain.find(c) != kPlain.npos ? std::string(1, c)
                                         : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return uri;
}

json location(const std::string& file, uint32_t line, const std::string& text) {
  json region = {{"startLine", std::max(line, 1u)}};
  if (!text.empty())
    region["snippet"] = {{"text", text}};
  return {
      {"physicalLocation", {{"artifactLocation", {{"uri", to_uri(file)}}}, {"region", std::move(region)}}}};
}

// The user's own line, else the PTX.
json location_of(const Place& place, const std::string& ptx) {
  const std::vector<SourceFrame> frames = frames_of(place);
  const SourceFrame own = frames.empty() ? SourceFrame{ptx, place.ptx_line, place.function, place.instruction}
                                         : frames[users_frame(place)];
  json at = location(own.file, own.line, own.source_text);
  const std::string& function = own.function.empty() ? place.function : own.function;
  if (!function.empty())
    at["logicalLocations"] = {
        {{"name", demangled_kernel(function)}, {"decoratedName", function}, {"kind", "function"}}};
  return at;
}

// Numbered: messages refer to them.
class RelatedLocations {
public:
  int add(json location, const std::string& message) {
    location["id"] = ++count_;
    location["message"] = {{"text", message}};
    all_.push_back(std::move(location));
    return count_;
  }
  // What is behind the user's line: the PTX, the library's lines that it inlines, and who inlines it.
  void add_behind(const Place& place, const std::string& ptx, const std::string& whose) {
    const std::vector<SourceFrame> frames = frames_of(place);
    if (frames.empty())
      return;
    add(location(ptx, place.ptx_line, place.instruction), whose + " in the PTX");
    for (size_t i = 0; i < frames.size(); ++i)
      if (i != users_frame(place) && !frames[i].file.empty())
        add(location(frames[i].file, frames[i].line, frames[i].source_text),
            whose + (i == 0 ? " itself, in inlined code" : " is inlined here"));
  }
  json take() { return std::move(all_); }

private:
  int count_ = 0;
  json all_ = json::array();
};

std::string deed(const CheckedAccess& access) {
  return lemma::thread_text(access.place, access.cta, access.warp, access.lane) + ": " +
         lemma::to_text(access);
}

// What of a place stays if lines are added elsewhere.
std::string text_of(const Place& place) {
  const std::vector<SourceFrame> frames = frames_of(place);
  const SourceFrame own = frames.empty() ? SourceFrame{} : frames[users_frame(place)];
  return fmt::format("{}|{}|{}|{}", place.function, own.file.substr(own.file.rfind('/') + 1), own.source_text,
                     place.instruction);
}

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string print_of(std::string_view identity) {
  return fmt::format("{:016x}", fnv1a(identity));
}

// Edits of the PTX, which are made all together.
json fix_of(const Finding& finding, const std::vector<FindingRepair>& repairs) {
  json replacements = json::array();
  for (const FindingRepair& repair : repairs)
    replacements.push_back({{"deletedRegion",
                             {{"startLine", repair.edit.line},
                              {"startColumn", repair.edit.column},
                              {"endLine", repair.edit.line},
                              {"endColumn", repair.edit.column + repair.edit.length}}},
                            {"insertedContent", {{"text", repair.edit.text}}}});
  return {{"description", {{"text", lemma::to_text(repairs, finding.ptx)}}},
          {"artifactChanges", json::array({{{"artifactLocation", {{"uri", to_uri(finding.ptx)}}},
                                            {"replacements", std::move(replacements)}}})}};
}

constexpr const char* kFingerprint = "lemma/v1"; // PRINT:N, the N-th result of that print

class Results {
public:
  void add(const Finding& finding, size_t number, const FindingGroup& group) {
    RelatedLocations related;
    const Place& place = finding.access.place;
    std::string text = finding.message + (finding.memory.empty() ? "" : ", at " + finding.memory) + ". " +
                       deed(finding.access) + ".";
    if (finding.earlier) {
      const int id = related.add(location_of(finding.earlier->place, finding.ptx),
                                 "Before it: " + deed(*finding.earlier));
      text += fmt::format(" [Before it]({}): {}.", id, deed(*finding.earlier));
    }
    related.add_behind(place, finding.ptx, "This access");
    if (finding.earlier)
      related.add_behind(finding.earlier->place, finding.ptx, "The access before it");
    if (!finding.fix.empty())
      text += " Missing: " + finding.fix + ".";
    json& result = add_result(finding.id, finding.is_note ? "note" : "error", text, fingerprint(finding),
                              location_of(place, finding.ptx), related.take());
    result["suppressions"] = json::array();
    if (finding.suppressed)
      result["suppressions"].push_back(
          {{"kind", "external"}, {"status", "accepted"}, {"justification", finding.suppressed_because}});
    result["properties"] = {{"kernel", finding.kernel}, {"count", finding.count}, {"group", number}};
    if (!group.repairs.empty())
      result["fixes"] = json::array({fix_of(finding, group.repairs)});
    for (const std::vector<FindingRepair>& other : group.alternatives)
      result["fixes"].push_back(fix_of(finding, other));
  }

  void add(const Fault& fault, const std::string& file, const std::string& kernel) {
    std::string id(fault.id);
    if (id.empty()) {
      id = "fault." + std::string(to_string(fault.kind));
      std::replace(id.begin(), id.end(), ' ', '-');
    }
    RelatedLocations related;
    related.add_behind(fault.place, file, "The instruction");
    std::string text = fault.message + ".";
    if (fault.has_thread)
      text += " " + lemma::thread_text(fault.place, fault.cta, fault.warp, fault.lane) + ".";
    for (const std::string& note : fault.notes)
      text += " " + note + ".";
    json& result = add_result(id, "error", text, print_of(id + "|" + kernel + "|" + text_of(fault.place)),
                              location_of(fault.place, file), related.take());
    result["suppressions"] = json::array();
    result["properties"] = {{"kernel", kernel}};
  }

  json take_results() { return std::move(results_); }
  json rules() const {
    json rules = json::array();
    for (const std::string& id : rules_)
      rules.push_back(rule(id));
    return rules;
  }

private:
  json& add_result(const std::string& id, const char* level, const std::string& text,
                   const std::string& print, json place, json related) {
    auto rule = std::find(rules_.begin(), rules_.end(), id);
    if (rule == rules_.end())
      rule = rules_.insert(rule, id);
    results_.push_back(
        {{"ruleId", id},
         {"ruleIndex", rule - rules_.begin()},
         {"level", level},
         {"message", {{"text", text}}},
         {"locations", json::array({std::move(place)})},
         {"relatedLocations", std::move(related)},
         {"partialFingerprints", {{kFingerprint, fmt::format("{}:{}", print, ++seen_[print])}}}});
    return results_.back();
  }

  static json rule(const std::string& id) {
    const auto kinds = finding_kinds();
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const FindingKind& k) { return k.id == id; });
    const bool is_fault = kind == kinds.end();
    const std::string summary =
        is_fault ? "The virtual GPU stopped: " + id.substr(id.find('.') + 1) : std::string(kind->summary);
    std::string anchor;
    std::copy_if(id.begin(), id.end(), std::back_inserter(anchor), [](char c) { return c != '.'; });
    const std::string uri = is_fault ? "docs/virtual-gpu.md" : "docs/checks.md#" + anchor;
    return {{"id", id},
            {"name", id},
            {"shortDescription", {{"text", summary}}},
            {"fullDescription", {{"text", summary + "."}}},
            {"help", {{"text", fmt::format("{}. {} of Lemma says more.", summary, uri)}}},
            {"defaultConfiguration", {{"level", "error"}}},
            {"properties", {{"tags", {"correctness", "gpu"}}, {"precision", "very-high"}}}};
  }

  std::vector<std::string> rules_;  // ids, as results name them first
  std::map<std::string, int> seen_; // fingerprints
  json results_ = json::array();
};

} // namespace

std::string fingerprint(const Finding& finding) {
  std::vector<std::string> places = {text_of(finding.access.place)};
  if (finding.earlier)
    places.push_back(text_of(finding.earlier->place));
  std::sort(places.begin(), places.end()); // which comes first is up to the schedule
  return print_of(fmt::format("{}|{}|{}", finding.id, finding.kernel, fmt::join(places, "|")));
}

Result<std::set<std::string>, std::string> read_fingerprints(const std::string& file) {
  const auto text = read_text(file);
  if (!text)
    return fail(text.error());
  const json sarif = json::parse(*text, nullptr, false);
  const auto wrong = [&](const char* what) {
    return fail(fmt::format("{}: {}: write one by --sarif", file, what));
  };
  if (!sarif.is_object() || !sarif.contains("runs") || !sarif["runs"].is_array())
    return wrong("this is no SARIF file");
  std::set<std::string> prints;
  for (const json& run : sarif["runs"])
    for (const json& result : run.value("results", json::array())) {
      const json by_tool = result.value("partialFingerprints", json::object());
      if (!by_tool.contains(kFingerprint) || !by_tool[kFingerprint].is_string())
        return wrong("its results are none of Lemma's");
      const std::string print = by_tool[kFingerprint];
      prints.insert(print.substr(0, print.find(':')));
    }
  return prints;
}

json to_sarif(const SarifRun& run) {
  Results results;
  const std::vector<FindingGroup> groups = group(run.findings);
  const std::vector<size_t> numbers = group_numbers(run.findings);
  for (size_t i = 0; i < run.findings.size(); ++i)
    results.add(run.findings[i], numbers[i], groups[numbers[i]]);
  for (const KernelFault& fault : run.faults)
    results.add(fault.fault, run.file, fault.kernel);
  const json driver = {
      {"name", "Lemma"}, {"version", version()}, {"semanticVersion", version()}, {"rules", results.rules()}};
  const json invocation = {{"commandLine", run.command},
                           {"exitCode", run.exit_status},
                           {"executionSuccessful", true}}; // the tool's, whatever it has found
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", json::array({{{"tool", {{"driver", driver}}},
                                 {"invocations", json::array({invocation})},
                                 {"results", results.take_results()}}})}};
}

} // namespace lemma::cli

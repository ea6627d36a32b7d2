// include/lemma/c/findings.h.
#include "lemma/findings.h"

#include "capi/handles.h"
#include "capi/messages.h"
#include "capi/report.h"
#include "lemma/suppressions.h"

namespace lemma::capi {

static const lemma_finding_kind* to_c(Arena& arena, const FindingKind& kind) {
  return arena.make<lemma_finding_kind>({.id = arena.text(kind.id), .summary = arena.text(kind.summary)});
}

static const lemma_suppression* to_c(Arena& arena, const Suppression& entry) {
  return arena.make<lemma_suppression>({.id = arena.text(entry.id),
                                        .file = arena.text(entry.file),
                                        .first_line = entry.first_line,
                                        .last_line = entry.last_line,
                                        .function = arena.text(entry.function),
                                        .why = arena.text(entry.why),
                                        .line = entry.line,
                                        .used = entry.used});
}

} // namespace lemma::capi

using namespace lemma::capi;

struct lemma_suppressions {
  lemma::Suppressions suppressions;
  std::unique_ptr<Tree<lemma_suppressions_info>> info = nullptr;
};

struct lemma_findings {
  std::vector<lemma::Finding> findings = {};
  std::unique_ptr<Tree<lemma_findings_info>> info = nullptr;
};

const lemma_finding_kinds* lemma_list_finding_kinds(void) {
  return or_null([]() -> const lemma_finding_kinds* {
    static const auto kinds = [] {
      auto made = std::make_unique<Tree<lemma_finding_kinds>>();
      list(made->arena, lemma::finding_kinds(), made->count, made->items);
      return made;
    }();
    return kinds.get();
  });
}

const lemma_error* lemma_suppressions_parse(const char* text, size_t text_bytes, const char* name,
                                            lemma_suppressions** suppressions) {
  return guarded([&] {
    lemma_suppressions*& made = given(suppressions, "lemma_suppressions_parse: suppressions");
    made = new lemma_suppressions{
        unwrap(lemma::Suppressions::parse(text_of(text, text_bytes), text_or(name, "<suppressions>")))};
  });
}

void lemma_suppressions_release(lemma_suppressions* suppressions) {
  delete suppressions;
}

const lemma_error* lemma_suppressions_describe(lemma_suppressions* suppressions,
                                               const lemma_suppressions_info** info) {
  return guarded([&] {
    const lemma_suppressions_info*& out = given(info, "lemma_suppressions_describe: info");
    const lemma::Suppressions& from =
        given(suppressions, "lemma_suppressions_describe: suppressions").suppressions;
    auto tree = std::make_unique<Tree<lemma_suppressions_info>>();
    tree->name = tree->arena.text(from.name());
    list(tree->arena, from.entries(), tree->entry_count, tree->entries);
    list(tree->arena, from.unused(), tree->unused_count, tree->unused);
    suppressions->info = std::move(tree);
    out = suppressions->info.get();
  });
}

const lemma_error* lemma_findings_create(lemma_findings** findings) {
  return guarded([&] { given(findings, "lemma_findings_create: findings") = new lemma_findings; });
}

void lemma_findings_release(lemma_findings* findings) {
  delete findings;
}

const lemma_error* lemma_findings_add(lemma_findings* findings, const lemma_report* report) {
  return guarded([&] {
    const auto& held = static_cast<const HeldReport&>(given(report, "lemma_findings_add: report"));
    lemma::merge(given(findings, "lemma_findings_add: findings").findings, held.report.findings);
  });
}

const lemma_error* lemma_findings_add_explored(lemma_findings* findings,
                                               const lemma_exploration* exploration) {
  return guarded([&] {
    const auto& held =
        static_cast<const HeldExploration&>(given(exploration, "lemma_findings_add_explored: exploration"));
    lemma::merge(given(findings, "lemma_findings_add_explored: findings").findings, held.held);
  });
}

const lemma_error* lemma_findings_add_streams(lemma_findings* findings, lemma_device* device) {
  return guarded([&] {
    std::vector<lemma::Finding>& into = given(findings, "lemma_findings_add_streams: findings").findings;
    // Not merged: accesses of copies and fills have no instruction to know a defect by.
    for (lemma::Finding& finding :
         given(device, "lemma_findings_add_streams: device").device.stream_findings())
      into.push_back(std::move(finding));
  });
}

const lemma_error* lemma_findings_suppress(lemma_findings* findings, lemma_suppressions* suppressions) {
  return guarded([&] {
    given(suppressions, "lemma_findings_suppress: suppressions")
        .suppressions.apply(given(findings, "lemma_findings_suppress: findings").findings);
  });
}

const lemma_error* lemma_findings_describe(lemma_findings* findings, const lemma_findings_info** info) {
  return guarded([&] {
    const lemma_findings_info*& out = given(info, "lemma_findings_describe: info");
    const std::vector<lemma::Finding>& from = given(findings, "lemma_findings_describe: findings").findings;
    auto tree = std::make_unique<Tree<lemma_findings_info>>();
    list_findings(tree->arena, from, tree->finding_count, tree->findings);
    const lemma::FindingCounts counts = lemma::count(from);
    tree->errors = counts.errors;
    tree->notes = counts.notes;
    tree->suppressed = counts.suppressed;
    tree->summary = tree->arena.text(lemma::to_text(counts));
    tree->text = tree->arena.text(lemma::to_text(from));
    tree->text_with_notes = tree->arena.text(lemma::to_text(from, {.notes = true}));
    findings->info = std::move(tree);
    out = findings->info.get();
  });
}

// include/lemma/c/report.h.
#include "capi/report.h"

#include "capi/enumerations.h"
#include "capi/handles.h"
#include "capi/messages.h"
#include "lemma/fidelity.h"
#include "lemma/findings.h"

#include <algorithm>

namespace lemma::capi {

static const lemma_source_frame* to_c(Arena& arena, const SourceFrame& frame) {
  return arena.make<lemma_source_frame>({.file = arena.text(frame.file),
                                         .line = frame.line,
                                         .function = arena.text(frame.function),
                                         .source_text = arena.text(frame.source_text)});
}

const lemma_place* to_c(Arena& arena, const Place& place) {
  const std::vector<SourceFrame> frames = frames_of(place);
  lemma_place made = {.ptx_line = place.ptx_line,
                      .line = place.line,
                      .instruction = arena.text(place.instruction),
                      .file = arena.text(place.file),
                      .function = arena.text(place.function),
                      .source_text = arena.text(place.source_text),
                      .inlined_at_count = 0,
                      .inlined_at = nullptr,
                      .inlined_function = arena.text(place.inlined_function),
                      .users_frame = frames.empty() ? nullptr : to_c(arena, frames[users_frame(place)])};
  list(arena, place.inlined_at, made.inlined_at_count, made.inlined_at);
  return arena.make<lemma_place>(made);
}

static const lemma_waiting* to_c(Arena& arena, const Waiting& waiting) {
  return arena.make<lemma_waiting>({.place = to_c(arena, waiting.place),
                                    .cta = {waiting.cta[0], waiting.cta[1], waiting.cta[2]},
                                    .warp = waiting.warp,
                                    .lanes = waiting.lanes,
                                    .reason = arena.text(waiting.reason),
                                    .notes = arena.strings(waiting.notes)});
}

static const lemma_uninitialized_read* to_c(Arena& arena, const UninitializedRead& read) {
  return arena.make<lemma_uninitialized_read>({.place = to_c(arena, read.place),
                                               .cta = {read.cta[0], read.cta[1], read.cta[2]},
                                               .warp = read.warp,
                                               .lane = read.lane,
                                               .what = arena.text(read.what),
                                               .count = read.count});
}

static const lemma_access* to_c(Arena& arena, const CheckedAccess& access) {
  return arena.make<lemma_access>({.place = to_c(arena, access.place),
                                   .cta = {access.cta[0], access.cta[1], access.cta[2]},
                                   .warp = access.warp,
                                   .lane = access.lane,
                                   .what = arena.text(access.what),
                                   .address = arena.optional(access.address),
                                   .value = arena.text(access.value),
                                   .text = arena.text(to_text(access))});
}

static const lemma_access_count* to_c(Arena& arena, const AccessCount& count) {
  return arena.make<lemma_access_count>({.space = arena.text(count.space),
                                         .kind = arena.text(count.kind),
                                         .warp_accesses = count.warp_accesses,
                                         .lane_accesses = count.lane_accesses,
                                         .bytes = count.bytes});
}

static const lemma_async_count* to_c(Arena& arena, const AsyncCount& count) {
  return arena.make<lemma_async_count>(
      {.kind = arena.text(count.kind), .operations = count.operations, .bytes = count.bytes});
}

static const lemma_called_count* to_c(Arena& arena, const CalledCount& count) {
  return arena.make<lemma_called_count>({.opcode = arena.text(count.opcode), .count = count.count});
}

static const lemma_executed_form* to_c(Arena& arena, const ExecutedForm& form) {
  return arena.make<lemma_executed_form>({.form = arena.text(form.form),
                                          .fidelity = to_c(form.fidelity),
                                          .evidence = arena.text(form.evidence),
                                          .warp_instructions = form.warp_instructions,
                                          .lane_instructions = form.lane_instructions});
}

static ExecutedForm to_cpp(const lemma_executed_form& form) {
  return {.form = text_or(form.form, ""),
          .fidelity = to_cpp(form.fidelity),
          .evidence = text_or(form.evidence, ""),
          .warp_instructions = form.warp_instructions,
          .lane_instructions = form.lane_instructions};
}

static const lemma_stats* to_c(Arena& arena, const Stats& stats) {
  auto* made = arena.make<lemma_stats>();
  made->seconds = stats.seconds;
  made->warp_instructions = arena.optional(stats.warp_instructions);
  made->lane_instructions = arena.optional(stats.lane_instructions);
  made->matrix_flops = arena.optional(stats.matrix_flops);
  if (stats.matrix_outputs)
    made->matrix_outputs = arena.make<lemma_matrix_outputs>({.vector = stats.matrix_outputs->vector,
                                                             .careful = stats.matrix_outputs->careful,
                                                             .scalar = stats.matrix_outputs->scalar});
  made->has_accesses = stats.accesses.has_value();
  if (stats.accesses)
    list(arena, *stats.accesses, made->access_count, made->accesses);
  if (stats.async_operations)
    list(arena, *stats.async_operations, made->async_operation_count, made->async_operations);
  made->compiled_instructions = arena.optional(stats.compiled_instructions);
  list(arena, stats.called, made->called_count, made->called);
  made->compiled_code_bytes = arena.optional(stats.compiled_code_bytes);
  made->compile_seconds = stats.compile_seconds;
  return made;
}

const lemma_fault* to_c(Arena& arena, const Fault& fault) {
  return arena.make<lemma_fault>({.kind = to_c(fault.kind),
                                  .id = arena.text(fault.id),
                                  .message = arena.text(fault.message),
                                  .notes = arena.strings(fault.notes),
                                  .place = to_c(arena, fault.place),
                                  .has_thread = fault.has_thread,
                                  .cta = {fault.cta[0], fault.cta[1], fault.cta[2]},
                                  .warp = fault.warp,
                                  .lane = fault.lane,
                                  .address = arena.optional(fault.address)});
}

static const lemma_finding_repair* to_c(Arena& arena, const FindingRepair& repair) {
  return arena.make<lemma_finding_repair>({.where = to_c(repair.where),
                                           .place = to_c(arena, repair.place),
                                           .replaced = arena.text(repair.replaced),
                                           .edit = to_c(arena, repair.edit)});
}

static const lemma_finding_alternative* to_c(Arena& arena, const std::vector<FindingRepair>& repairs) {
  auto* made = arena.make<lemma_finding_alternative>();
  list(arena, repairs, made->repair_count, made->repairs);
  return made;
}

// `shared`: what all of its group have.
static const lemma_finding* to_c(Arena& arena, const Finding& finding, const lemma_finding& shared) {
  return arena.make<lemma_finding>({.id = arena.text(finding.id),
                                    .is_note = finding.is_note,
                                    .suppressed = finding.suppressed,
                                    .message = arena.text(finding.message),
                                    .memory = arena.text(finding.memory),
                                    .access = to_c(arena, finding.access),
                                    .earlier = finding.earlier ? to_c(arena, *finding.earlier) : nullptr,
                                    .fix = arena.text(finding.fix),
                                    .count = finding.count,
                                    .kernel = arena.text(finding.kernel),
                                    .ptx = arena.text(finding.ptx),
                                    .suppressed_because = arena.text(finding.suppressed_because),
                                    .schedule = finding.schedule,
                                    .schedules = finding.schedules,
                                    .rendered = arena.text(finding.rendered),
                                    .group = shared.group,
                                    .repair_count = shared.repair_count,
                                    .repairs = shared.repairs,
                                    .alternative_count = shared.alternative_count,
                                    .alternatives = shared.alternatives});
}

void list_findings(Arena& arena, const std::vector<Finding>& from, size_t& count,
                   const lemma_finding* const*& items) {
  auto** made = arena.array<const lemma_finding*>(from.size());
  const std::vector<FindingGroup> groups = group(from);
  for (size_t i = 0; i < groups.size(); ++i) {
    lemma_finding shared = {};
    shared.group = i;
    list(arena, groups[i].repairs, shared.repair_count, shared.repairs);
    list(arena, groups[i].alternatives, shared.alternative_count, shared.alternatives);
    for (const size_t member : groups[i].members)
      made[member] = to_c(arena, from[member], shared);
  }
  items = made;
  count = from.size();
}

void fill(lemma_report& to, Arena& arena, const Report& from) {
  to.outcome = to_c(from.outcome);
  to.fault = from.fault ? to_c(arena, *from.fault) : nullptr;
  list(arena, from.waiting, to.waiting_count, to.waiting);
  list(arena, from.uninitialized, to.uninitialized_count, to.uninitialized);
  to.uninitialized_reads = from.uninitialized_reads;
  list_findings(arena, from.findings, to.finding_count, to.findings);
  to.checked_ctas = from.checked_ctas;
  to.float_atomics = from.float_atomics;
  to.assumed_approximate = from.assumed_approximate;
  to.warnings = arena.strings(from.warnings);
  to.arithmetic = arena.text(from.arithmetic);
  to.device = arena.text(from.device);
  list(arena, from.forms, to.form_count, to.forms);
  to.stats = to_c(arena, from.stats);
  to.rendered = arena.text(from.rendered);
  to.text = arena.text(from.rendered + to_text(from.findings));
}

HeldReport::HeldReport(Report made) : report(std::move(made)) {
  fill(*this, arena, report);
}

} // namespace lemma::capi

void lemma_report_release(const lemma_report* report) {
  delete static_cast<const lemma::capi::HeldReport*>(report);
}

void lemma_merged_forms_release(const lemma_merged_forms* merged) {
  lemma::capi::release(merged);
}

const lemma_error* lemma_merge_forms(const lemma_executed_form* const* forms, size_t form_count,
                                     const char* arithmetic, size_t most, const lemma_merged_forms** merged) {
  using namespace lemma::capi;
  return guarded([&] {
    const lemma_merged_forms*& out = given(merged, "lemma_merge_forms: merged");
    if (form_count > 0)
      given(forms, "lemma_merge_forms: forms");
    std::vector<lemma::ExecutedForm> more, all;
    for (size_t i = 0; i < form_count; ++i)
      more.push_back(to_cpp(given(forms[i], "lemma_merge_forms: a form")));
    lemma::merge(all, more);
    auto tree = std::make_unique<Tree<lemma_merged_forms>>();
    list(tree->arena, all, tree->form_count, tree->forms);
    tree->text = tree->arena.text(lemma::fidelity_text(all, text_or(arithmetic, ""), most ? most : 8));
    out = tree.release();
  });
}

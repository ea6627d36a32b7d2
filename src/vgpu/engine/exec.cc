// Faults and the places they name, and remarks. Memory access is in access.cc, waiting for lanes in warp.cc.
#include "vgpu/engine/exec.h"

#include "ptx/debug_strings.h"
#include "ptx/triton.h"
#include "support/diagnostic.h"
#include "vgpu/engine/observer.h"
#include "vgpu/memory/place.h"
#include "vgpu/reports/wrong_address.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>

namespace lemma::vgpu {

std::pair<FaultKind, std::string> describe(const std::exception& problem) {
  if (dynamic_cast<const OverBudget*>(&problem))
    return {FaultKind::out_of_memory, problem.what()};
  if (dynamic_cast<const std::bad_alloc*>(&problem))
    return {FaultKind::out_of_memory, "the host has no memory left"};
  return {FaultKind::internal, problem.what()};
}

Place place_of(const Code& code, InstId id) {
  constexpr size_t kLongestName = 4096; // a mangled one that is cut names nothing
  constexpr size_t kLongestFile = 500;
  constexpr size_t kLongestStatement = 1000;
  Place place;
  place.function = shortened(code.function->name, kLongestName);
  place.in_program = ptx::has_triton_programs(*code.module);
  if (!id)
    return place;
  const ptx::Instruction& instruction = code.function->instructions[id.index];
  const SourceText& source = *code.module->source;
  place.ptx_line = source.line_column(instruction.range.begin).line;
  for (const char c : shortened(std::string(source.slice(instruction.range)), kLongestStatement))
    if (c != '\n' && c != '\r' && !(c == '\t' && place.instruction.empty()))
      place.instruction += c == '\t' ? ' ' : c;
  if (instruction.location == ptx::kNone)
    return place;
  const auto& locations = code.module->locations;
  const auto file_of = [&](const ptx::LineLocation& location) {
    const auto file = code.module->files.find(location.file);
    return file != code.module->files.end() ? shortened(file->second.name, kLongestFile) : std::string();
  };
  const ptx::LineLocation& location = locations[instruction.location];
  place.line = location.line;
  place.file = file_of(location);
  const auto function_of = [&](const ptx::LineLocation& location) {
    return location.inlined_at == ptx::kNone
               ? place.function
               : std::string(
                     ptx::debug_string(*code.module, location.inlined_function).substr(0, kLongestName));
  };
  if (location.inlined_at != ptx::kNone)
    place.inlined_function = function_of(location);
  for (uint32_t outer = location.inlined_at; outer != ptx::kNone; outer = locations[outer].inlined_at)
    place.inlined_at.push_back({.file = file_of(locations[outer]),
                                .line = locations[outer].line,
                                .function = function_of(locations[outer])});
  return place;
}

void Exec::start_async(AsyncOperation operation) {
  effect();
  operation.number = async().next_number();
  watch.tell(&Observer::issues, *this, operation);
  float_atomics |= operation.reduce && adds_floats(operation.reduce);
  const int lane = operation.issuer.lane;
  async().start(thread(lane), std::move(operation));
}

Step Exec::fail(const DecodedInst& in, Fault fault) {
  const std::lock_guard lock(launch->report_mutex);
  if (!launch->report.fault) {
    fault.message = shortened(std::move(fault.message), kLongestMessage);
    for (std::string& note : fault.notes)
      note = shortened(std::move(note), kLongestMessage);
    fault.place = place_of(*code, in);
    fault.has_thread = true;
    fault.cta = cta->id;
    fault.warp = warp->index;
    launch->report.fault = std::move(fault);
  }
  launch->stop.store(true);
  return Step::stopped;
}

Step Exec::fault(const DecodedInst& in, FaultKind kind, std::string message, int lane,
                 std::vector<std::string> notes) {
  return fail(
      in,
      {.kind = kind, .message = std::move(message), .notes = std::move(notes), .place = {}, .lane = lane});
}

Step Exec::misuse(const DecodedInst& in, std::string_view id, std::string message, int lane,
                  std::vector<std::string> notes, std::optional<uint64_t> address) {
  return fail(in, {.kind = FaultKind::illegal_instruction,
                   .id = id,
                   .message = std::move(message),
                   .notes = std::move(notes),
                   .place = {},
                   .lane = lane,
                   .address = address});
}

void Launch::remark(const Code* code, InstId id, std::string text) {
  constexpr size_t kMost = 1000; // instructions
  const std::lock_guard lock(report_mutex);
  const auto found = remarks.find(id);
  if (found != remarks.end())
    ++found->second.count;
  else if (remarks.size() < kMost)
    remarks.emplace(id, Remark{.code = code, .text = std::move(text), .count = 1});
}

namespace {

// "line 41 (a.cu:7) and 3 more instructions: TEXT, 12 times"
std::string warning_of(InstId id, const Launch::Remark& remark, size_t more_instructions) {
  const Place place = place_of(*remark.code, id);
  const std::string source =
      place.file.empty() ? std::string() : fmt::format(" ({}:{})", place.file, place.line);
  const std::string others = more_instructions == 0 ? std::string()
                             : more_instructions == 1
                                 ? " and one more instruction"
                                 : fmt::format(" and {} more instructions", more_instructions);
  const std::string times = remark.count > 1 ? fmt::format(", {} times", remark.count) : std::string();
  return fmt::format("line {}{}{}: {}{}", place.ptx_line, source, others, remark.text, times);
}

} // namespace

std::vector<std::string> Launch::warnings() const {
  constexpr size_t kMost = 10;
  std::map<std::string_view, size_t> of_text; // index in `merged`
  std::vector<std::tuple<InstId, Launch::Remark, size_t>> merged;
  for (const auto& [id, remark] : remarks) {
    const auto [at, is_new] = of_text.try_emplace(remark.text, merged.size());
    if (is_new) {
      merged.emplace_back(id, remark, 0);
    } else {
      auto& [first, all, more] = merged[at->second];
      all.count += remark.count;
      ++more;
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [id, remark, more] : merged)
    if (warnings.size() < kMost)
      warnings.push_back(warning_of(id, remark, more));
  return warnings;
}

void Exec::remark(const DecodedInst& in, std::string text) {
  launch->remark(code, code->id_of(in), std::move(text));
}

Step Exec::fault_at(const DecodedInst& in, FaultKind kind, std::string message, int lane, uint64_t address,
                    std::vector<std::string> notes, std::string_view id) {
  if (std::string index = unwritten_index(*this, in); !index.empty())
    notes.push_back(std::move(index));
  return fail(in, {.kind = kind,
                   .id = id.empty() && kind == FaultKind::out_of_bounds ? "memory.bounds" : id,
                   .message = std::move(message),
                   .notes = std::move(notes),
                   .place = {},
                   .lane = lane,
                   .address = address});
}

} // namespace lemma::vgpu

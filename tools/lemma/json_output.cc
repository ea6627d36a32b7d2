// One to_json() for each structure of the public API. JsonOutput moves standard output aside while a command
// runs, so that a kernel's printf or a library cannot get into the object: what they print goes to standard
// error.
#include "json_output.h"

#include "command.h"
#include "say.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace lemma::cli {

using nlohmann::json;

namespace {

json to_json(const SourceFrame& frame) {
  json out = {{"file", frame.file}, {"line", frame.line}, {"function", frame.function}};
  if (!frame.source_text.empty())
    out["source_text"] = frame.source_text;
  return out;
}

json to_json(const Place& place) {
  json out = {{"ptx_line", place.ptx_line}, {"instruction", place.instruction}, {"function", place.function}};
  if (!place.file.empty()) {
    out["file"] = place.file;
    out["line"] = place.line;
    out["inlined_at"] = json::array();
    for (const SourceFrame& call : place.inlined_at)
      out["inlined_at"].push_back(to_json(call));
    if (!place.inlined_at.empty()) {
      out["inlined_function"] = place.inlined_function;
      out["users_frame"] = to_json(frames_of(place)[users_frame(place)]);
    }
    if (!place.source_text.empty())
      out["source_text"] = place.source_text;
  }
  return out;
}

json to_json(const Repair& repair) {
  return {{"line", repair.line}, {"column", repair.column}, {"length", repair.length}, {"text", repair.text}};
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

} // namespace

json json_of(const Place& place) {
  return to_json(place);
}

json to_json(const Message& message) {
  json notes = json::array();
  for (const Note& note : message.notes)
    notes.push_back({{"label", note.label}, {"text", note.text}});
  json repairs = json::array();
  for (const Repair& repair : message.repairs)
    repairs.push_back(to_json(repair));
  return {{"severity", to_string(message.severity)},
          {"id", message.id},
          {"message", message.text},
          {"file", message.file},
          {"line", message.line},
          {"column", message.column},
          {"length", message.length},
          {"notes", std::move(notes)},
          {"repairs", std::move(repairs)}};
}

json to_json(const std::vector<Message>& messages) {
  json out = json::array();
  for (const Message& message : messages)
    out.push_back(to_json(message));
  return out;
}

json to_json(const Error& error) {
  return {{"kind", to_string(error.kind)}, {"message", error.text}};
}

json to_json(const Stats& stats) {
  json out = {{"warp_instructions", or_null(stats.warp_instructions)},
              {"lane_instructions", or_null(stats.lane_instructions)},
              {"compiled_instructions", or_null(stats.compiled_instructions)},
              {"called", json::array()},
              {"compiled_code_bytes", or_null(stats.compiled_code_bytes)},
              {"compile_seconds", stats.compile_seconds},
              {"matrix_flops", or_null(stats.matrix_flops)},
              {"seconds", stats.seconds}};
  for (const CalledCount& count : stats.called)
    out["called"].push_back({{"opcode", count.opcode}, {"count", count.count}});
  out["matrix_outputs"] = stats.matrix_outputs ? json{{"vector", stats.matrix_outputs->vector},
                                                      {"careful", stats.matrix_outputs->careful},
                                                      {"scalar", stats.matrix_outputs->scalar}}
                                               : json(nullptr);
  out["accesses"] = out["async_operations"] = nullptr;
  if (stats.accesses) {
    out["accesses"] = json::array();
    for (const AccessCount& count : *stats.accesses)
      out["accesses"].push_back({{"space", count.space},
                                 {"kind", count.kind},
                                 {"warp_accesses", count.warp_accesses},
                                 {"lane_accesses", count.lane_accesses},
                                 {"bytes", count.bytes}});
  }
  if (stats.async_operations) {
    out["async_operations"] = json::array();
    for (const AsyncCount& count : *stats.async_operations)
      out["async_operations"].push_back(
          {{"kind", count.kind}, {"operations", count.operations}, {"bytes", count.bytes}});
  }
  if (stats.matrix_flops && stats.seconds > 0)
    out["matrix_flops_per_second"] = static_cast<double>(*stats.matrix_flops) / stats.seconds;
  return out;
}

namespace {
// Of a CTA that is an instance of a Triton kernel: what its source calls it.
void add_program(json& out, const Place& place, const Dim3& cta) {
  if (place.in_program)
    out["program_id"] = cta;
}
} // namespace

json to_json(const Fault& fault) {
  json out = {{"kind", to_string(fault.kind)},
              {"message", fault.message},
              {"notes", fault.notes},
              {"place", to_json(fault.place)}};
  if (!fault.id.empty())
    out["id"] = fault.id;
  if (fault.has_thread) {
    out["cta"] = fault.cta;
    out["warp"] = fault.warp;
    out["lane"] = fault.lane >= 0 ? json(fault.lane) : json(nullptr);
    add_program(out, fault.place, fault.cta);
  }
  if (fault.address)
    out["address"] = fmt::format("0x{:x}", *fault.address); // JSON readers lose integers beyond 2^53
  return out;
}

json to_json(const Waiting& waiting) {
  json out = {{"place", to_json(waiting.place)},
              {"cta", waiting.cta},
              {"warp", waiting.warp},
              {"lanes", fmt::format("0x{:08x}", waiting.lanes)},
              {"reason", waiting.reason},
              {"notes", waiting.notes}};
  add_program(out, waiting.place, waiting.cta);
  return out;
}

json to_json(const UninitializedRead& read) {
  json out = {{"place", to_json(read.place)},
              {"cta", read.cta},
              {"warp", read.warp},
              {"lane", read.lane},
              {"what", read.what},
              {"count", read.count}};
  add_program(out, read.place, read.cta);
  return out;
}

namespace {
json to_json(const CheckedAccess& access) {
  json out = {{"place", to_json(access.place)},
              {"cta", access.cta},
              {"warp", access.warp},
              {"lane", access.lane},
              {"what", access.what},
              {"address", access.address ? json(fmt::format("0x{:x}", *access.address)) : json(nullptr)},
              {"value", access.value.empty() ? json(nullptr) : json(access.value)}};
  add_program(out, access.place, access.cta);
  return out;
}
} // namespace

static json to_json(const Finding& finding) {
  return {{"id", finding.id},
          {"severity", finding.is_note ? "note" : "error"},
          {"is_note", finding.is_note},
          {"suppressed", finding.suppressed},
          {"suppressed_because", finding.suppressed ? json(finding.suppressed_because) : json(nullptr)},
          {"kernel", finding.kernel},
          {"schedule", finding.schedule},
          {"schedules", finding.schedules},
          {"message", finding.message},
          {"memory", finding.memory},
          {"access", to_json(finding.access)},
          {"earlier", finding.earlier ? to_json(*finding.earlier) : json(nullptr)},
          {"fix", finding.fix},
          {"count", finding.count}};
}

static json to_json(const std::vector<FindingRepair>& repairs) {
  json out = json::array();
  for (const FindingRepair& repair : repairs) {
    out.push_back(to_json(repair.edit));
    out.back()["where"] = to_string(repair.where);
    out.back()["replaced"] = repair.replaced;
    out.back()["place"] = to_json(repair.place);
  }
  return out;
}

json to_json(const std::vector<Finding>& findings) {
  json out = json::array();
  for (const Finding& finding : findings)
    out.push_back(to_json(finding));
  const std::vector<FindingGroup> groups = group(findings);
  for (size_t i = 0; i < groups.size(); ++i) {
    const json repairs = to_json(groups[i].repairs);
    json alternatives = json::array();
    for (const std::vector<FindingRepair>& other : groups[i].alternatives)
      alternatives.push_back(to_json(other));
    for (const size_t member : groups[i].members) {
      out[member]["group"] = i;
      out[member]["repairs"] = repairs;
      out[member]["alternatives"] = alternatives;
    }
  }
  return out;
}

json to_json(const std::vector<ExecutedForm>& forms) {
  json out = json::array();
  for (const ExecutedForm& form : forms)
    out.push_back({{"form", form.form},
                   {"fidelity", to_string(form.fidelity)},
                   {"evidence", form.evidence},
                   {"warp_instructions", form.warp_instructions},
                   {"lane_instructions", form.lane_instructions}});
  return out;
}

json to_json(const Comparison& comparison) {
  json first = json::array();
  for (const Difference& d : comparison.first)
    first.push_back({{"element", d.element}, {"got", d.got}, {"want", d.want}});
  json out = {{"equal", comparison.equal},
              {"type", comparison.type},
              {"elements", comparison.elements},
              {"different", comparison.different},
              {"first", std::move(first)}};
  if (!comparison.problem.empty())
    out["problem"] = comparison.problem;
  return out;
}

int refuse(bool json, const std::string& text, ErrorKind kind) {
  std::string message = text;
  while (message.ends_with('\n'))
    message.pop_back();
  const int status = kind == ErrorKind::unsupported ? kUnsupported : kUsage;
  if (json)
    JsonOutput().print(
        {{"exit_status", status}, {"error", {{"kind", to_string(kind)}, {"message", message}}}});
  say(message);
  return status;
}

JsonOutput::JsonOutput() {
  std::fflush(stdout);
  stdout_ = dup(STDOUT_FILENO);
  if (stdout_ >= 0)
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

JsonOutput::~JsonOutput() {
  std::fflush(stdout);
  if (stdout_ >= 0) {
    dup2(stdout_, STDOUT_FILENO);
    close(stdout_);
  }
}

void JsonOutput::print(const json& object) {
  write_text(object.dump(2, ' ', true, json::error_handler_t::replace) + "\n");
}

void JsonOutput::print_line(const json& object) {
  write_text(object.dump(-1, ' ', true, json::error_handler_t::replace) + "\n");
}

void JsonOutput::write_text(const std::string& text) {
  std::fflush(stdout);
  size_t at = 0;
  while (stdout_ >= 0 && at < text.size()) {
    const ssize_t written = write(stdout_, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      say(fmt::format("cannot write standard output: {}", std::strerror(errno)));
      std::_Exit(kUsage); // the reader has a part of it: no status may say that all is well
    }
    at += static_cast<size_t>(written);
  }
}

} // namespace lemma::cli

// Which words go where: standard output has what was asked for and nothing else. See run_report.h.
#include "run_report.h"

#include "application.h"
#include "say.h"
#include "terminal.h"

#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <optional>

namespace lemma::cli {
namespace {

// "arithmetic of sm_90 (the module's .target sm_90a)"
std::string arithmetic_text(const Run& run, const Module& module, const Device& device) {
  if (device.info().kind == "cuda")
    return fmt::format("arithmetic of {} (the GPU's own; the module's .target is {})", module.arithmetic(),
                       module.target());
  return fmt::format("arithmetic of {} ({})", module.arithmetic(),
                     run.options.arch.empty() ? "the module's .target " + module.target()
                                              : "--arch " + run.options.arch);
}

// Empty: as it should.
std::string ended_text(Outcome outcome) {
  return outcome == Outcome::finished ? "" : outcome == Outcome::fault ? "ended by a fault" : "ended early";
}

void add_watched(const Run& run, nlohmann::json& out, const Report& report) {
  if (run.options.fidelity)
    out["fidelity"] = to_json(report.forms);
  if (run.options.coverage)
    out["coverage"] = run.coverage.to_json();
}

std::string exploration_text(const Run& run) {
  return run.exploration ? to_text(*run.exploration, run.explored_outputs) : "";
}

std::string exploration_closing_text(const Run& run) {
  return run.exploration ? "; " + closing_text(*run.exploration) : "";
}

nlohmann::json exploration_to_json(const Run& run) {
  return run.exploration ? to_json(*run.exploration, run.explored_outputs) : nlohmann::json(nullptr);
}

void show_comparisons(const Run& run) {
  for (const OutputComparison& c : run.comparisons)
    print_text(stderr, printable_lines(render(c.result, c.got, c.want)));
}

// Last, if an output differs and nobody has looked for races.
void show_checking_command(const Run& run) {
  const bool differs =
      std::ranges::any_of(run.comparisons, [](const OutputComparison& c) { return !c.result.equal; });
  if (differs && !run.found.is_checking() && run.options.device == "cpu")
    print_text(stderr, fmt::format("lemma: to look for races, missing fences and waits: {}\n",
                                   printable(repeating_command("", "--check"))));
}

nlohmann::json comparisons_to_json(const Run& run) {
  auto all = nlohmann::json::array();
  for (const OutputComparison& c : run.comparisons) {
    nlohmann::json comparison = to_json(c.result);
    comparison["output"] = c.got;
    comparison["expected"] = c.want;
    all.push_back(std::move(comparison));
  }
  return all;
}

// "; called: atom 1200, bar 40"
std::string called_text(const std::vector<CalledCount>& called) {
  std::string text;
  for (const CalledCount& count : called)
    text += fmt::format("{} {} {}", text.empty() ? "; called:" : ",", count.opcode, count.count);
  return text;
}

void show_stats(const Stats& stats) {
  const auto rate = [&](std::optional<uint64_t> count) {
    return stats.seconds > 0 ? static_cast<double>(count.value_or(0)) / stats.seconds * 1e-9 : 0.0;
  };
  if (stats.warp_instructions)
    fmt::print("warp instructions  {}\n", *stats.warp_instructions);
  if (stats.lane_instructions)
    fmt::print("lane instructions  {} ({:.3f} G/s)\n", *stats.lane_instructions,
               rate(stats.lane_instructions));
  if (stats.compiled_instructions && stats.warp_instructions.value_or(0) != 0)
    fmt::print("compiled           {:.1f} % of warp instructions{}\n",
               100 * static_cast<double>(*stats.compiled_instructions) /
                   static_cast<double>(*stats.warp_instructions),
               called_text(stats.called));
  if (stats.compiled_code_bytes.value_or(0) != 0)
    fmt::print("compiling          {:.6f} s, {} bytes of code\n", stats.compile_seconds,
               *stats.compiled_code_bytes);
  if (stats.matrix_flops)
    fmt::print("matrix FLOPs       {} ({:.3f} GFLOP/s)\n", *stats.matrix_flops, rate(stats.matrix_flops));
  if (stats.matrix_outputs && (stats.matrix_flops.value_or(0) != 0)) {
    const MatrixOutputs& by = *stats.matrix_outputs;
    const auto all = static_cast<double>(by.vector + by.careful + by.scalar);
    fmt::print(
        "matrix outputs     {} by the vector path ({:.2f} %), {} by the careful one, {} by the scalar one\n",
        by.vector, 100 * static_cast<double>(by.vector) / all, by.careful, by.scalar);
  }
  for (const AccessCount& count : stats.accesses.value_or(std::vector<AccessCount>{}))
    fmt::print("{:<18} {} by warps, {} by lanes, {} bytes\n", count.space + " " + count.kind + "s",
               count.warp_accesses, count.lane_accesses, count.bytes);
  for (const AsyncCount& count : stats.async_operations.value_or(std::vector<AsyncCount>{}))
    fmt::print("{:<18} {}, {} bytes\n", count.kind, count.operations, count.bytes);
  fmt::print("time               {:.6f} s\n", stats.seconds);
}

} // namespace

void show_launch(const Run& run, const Launched& launched) {
  const Report& report = launched.report;
  print_messages(stderr, report.rendered);
  run.found.show();
  print_messages(stderr, exploration_text(run));
  if (const std::string& by = launched.module.assembled_by(); !by.empty())
    say(fmt::format("assembled by {}, since the driver ({}) takes no PTX that new", printable(by),
                    launched.device.info().driver));
  if (run.predicted_in)
    say(fmt::format("loads got older values there, as the memory model allows; to repeat: {}",
                    printable(repeating_schedule(*run.predicted_in))));
  print_text(stderr,
             fmt::format("{}: {} on {}, {}{}; {}{}\n", printable(run.file), launched.kernel.name(),
                         launched.device.info().name, arithmetic_text(run, launched.module, launched.device),
                         report.assumed_approximate ? "; approximate functions as on sm_90 (assumed)" : "",
                         run.found.closing_text(ended_text(report.outcome)), exploration_closing_text(run)));
  show_comparisons(run);
  if (run.options.stats)
    show_stats(report.stats);
  show_watched(run, report);
  show_checking_command(run);
}

void print_launch(Run& run, const Launched& launched, ExitStatus status) {
  using nlohmann::json;
  const auto& [device, module, kernel, report] = launched;
  const DeviceInfo& info = device.info();
  json out = {{"file", run.file},
              {"kernel", kernel.name()},
              {"exit_status", status},
              {"outcome", to_string(report.outcome)},
              {"device",
               {{"kind", info.kind}, {"name", info.name}, {"driver", info.driver}, {"target", info.target}}},
              {"arithmetic",
               {{"arch", module.arithmetic()},
                {"target", module.target()},
                {"from", info.kind == "cuda"        ? "device"
                         : run.options.arch.empty() ? ".target"
                                                    : "--arch"}}},
              {"assembled_by", module.assembled_by().empty() ? json(nullptr) : json(module.assembled_by())},
              {"fault", report.fault ? to_json(*report.fault) : json(nullptr)},
              {"uninitialized", {{"count", report.uninitialized_reads}, {"first", json::array()}}},
              {"waiting", json::array()},
              {"command", repeating_command()},
              {"outputs_written", run.outputs_written},
              {"warnings", report.warnings},
              {"approximate_assumed", report.assumed_approximate},
              {"stats", to_json(report.stats)},
              {"diagnostics", to_json(module.messages())},
              {"comparisons", comparisons_to_json(run)}};
  for (const UninitializedRead& read : report.uninitialized)
    out["uninitialized"]["first"].push_back(to_json(read));
  for (const Waiting& waiting : report.waiting)
    out["waiting"].push_back(to_json(waiting));
  run.found.add_to(out);
  add_watched(run, out, report);
  out["exploration"] = exploration_to_json(run);
  assert(run.json);
  run.json->print(out);
}

void show_watched(const Run& run, const Report& report) {
  if (run.json)
    return;
  if (run.options.fidelity)
    print_text(stdout, fidelity_text(report.forms, report.arithmetic));
  if (run.options.coverage)
    fmt::print("{}", run.coverage.text());
}

void show_program(Run& run, const ProgramRun& ran, ExitStatus status) {
  if (run.json) {
    nlohmann::json out = {{"file", run.file},
                          {"exit_status", status},
                          {"returned", ran.returned},
                          {"launches", ran.launches},
                          {"outputs_written", run.outputs_written},
                          {"stats", to_json(ran.report.stats)},
                          {"comparisons", comparisons_to_json(run)},
                          {"command", repeating_command()}};
    run.found.add_to(out);
    add_watched(run, out, ran.report);
    out["exploration"] = exploration_to_json(run);
    run.json->print(out);
    return;
  }
  run.found.show();
  print_messages(stderr, exploration_text(run));
  print_text(stderr, fmt::format("{}: {} launch{}; {}{}\n", printable(run.file), ran.launches,
                                 ran.launches == 1 ? "" : "es", run.found.closing_text(),
                                 exploration_closing_text(run)));
  show_comparisons(run);
  if (run.options.stats) {
    fmt::print("launches           {}\n", ran.launches);
    show_stats(ran.report.stats);
  }
  show_watched(run, ran.report);
  show_checking_command(run);
}

void show_host_stop(Run& run, const MlirStop& stop, const Report& report) {
  if (!run.json)
    run.found.show();
  print_messages(stderr, stop.text + exploration_text(run));
  leave_outputs(run);
  if (!run.json)
    return;
  nlohmann::json out = {{"file", run.file},
                        {"exit_status", stop.exit_status},
                        {"error",
                         {{"kind", stop.exit_status == kUnsupported ? "unsupported"
                                   : stop.exit_status == kFailed    ? "fault"
                                                                    : "stopped"},
                          {"message", stop.text}}},
                        {"outputs_written", run.outputs_written},
                        {"command", repeating_command()}};
  run.found.add_to(out);
  add_watched(run, out, report);
  out["exploration"] = exploration_to_json(run);
  run.json->print(out);
}

int show_stop(Run& run, const Stop& stop) {
  if (run.json)
    run.json->print({{"file", run.file},
                     {"exit_status", stop.status},
                     {"error", to_json(stop.error)},
                     {"diagnostics", to_json(stop.error.messages)}});
  for (const Message& message : stop.error.messages)
    print_messages(stderr, message.rendered);
  if (stop.error.messages.empty())
    say(stop.error.text);
  if (stop.status == kUsage)
    print_text(stderr, "`lemma run --help` says more.\n");
  return stop.status;
}

} // namespace lemma::cli

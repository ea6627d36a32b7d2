// Faults have been told by the process that had them. With --check those that docs/checks.md has a section
// for fail the run, as findings do; an assertion or a trap is the program's own affair. Findings nobody has
// told yet.
#include "exec_report.h"

#include "application.h"
#include "json_output.h"
#include "sarif.h"
#include "terminal.h"

#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace lemma::cli {
namespace {

using nlohmann::json;

uint64_t findings_in(const std::vector<Finding>& findings, const std::string& kernel) {
  return static_cast<uint64_t>(std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.kernel == kernel && !finding.is_note && !finding.suppressed;
  }));
}

double compiled_percent(const KernelCounts& kernel) {
  return kernel.warp_instructions == 0 ? 0
                                       : 100 * static_cast<double>(kernel.compiled_instructions) /
                                             static_cast<double>(kernel.warp_instructions);
}

std::string plural(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

} // namespace

void ExecReport::add(const ProgramRunOnce& run, ProcessReports reports) {
  runs_.push_back(run);
  if (run.schedule)
    for (Finding& finding : reports.findings) {
      finding.schedule = *run.schedule;
      finding.schedules = 1;
    }
  found.add(std::move(reports.findings));
  commands_.insert(commands_.end(), reports.commands.begin(), reports.commands.end());
  faults_.insert(faults_.end(), reports.faults.begin(), reports.faults.end());
  running_.insert(running_.end(), reports.running.begin(), reports.running.end());
  are_complete_ &= reports.are_complete;
  for (KernelCounts& kernel : reports.kernels)
    merge(kernels_, std::move(kernel));
}

int ExecReport::exit_status() const {
  for (const ProgramRunOnce& run : runs_)
    if (run.status != 0)
      return run.status;
  return found.has_errors() || has_checked_faults() || !are_complete_ ? kFailed : kSuccess;
}

bool ExecReport::has_checked_faults() const {
  return found.is_checking() && std::any_of(faults_.begin(), faults_.end(),
                                            [](const KernelFault& each) { return !each.fault.id.empty(); });
}

void ExecReport::show(const std::string& program, bool stats) const {
  found.show();
  if (stats && !kernels_.empty()) {
    std::string text = fmt::format("{:>9} {:>11} {:>15} {:>10} {:>9}  {}\n", "launches", "seconds",
                                   "warp instr.", "compiled %", "findings", "kernel");
    for (const KernelCounts& kernel : kernels_)
      text += fmt::format(
          "{:>9} {:>11.6f} {:>15} {:>10.1f} {:>9}  {}{}\n", kernel.launches, kernel.seconds,
          kernel.warp_instructions, compiled_percent(kernel), findings_in(found.findings(), kernel.kernel),
          printable(demangled_kernel(kernel.kernel)),
          kernel.faults ? fmt::format(" ({})", plural(kernel.faults, "fault", "faults")) : "");
    print_text(stderr, text);
  }
  for (const RunningLaunch& running : running_)
    print_text(stderr, fmt::format("lemma: when its process ended, {}", printable_lines(text_of(running))));
  uint64_t launches = 0;
  for (const KernelCounts& kernel : kernels_)
    launches += kernel.launches;
  std::string text = fmt::format("lemma: {}: ", printable(program));
  if (runs_.size() > 1)
    text += plural(runs_.size(), "schedule", "schedules") + ", ";
  text += fmt::format(
      "{}, {}; {}", plural(commands_.size(), "process", "processes"), plural(launches, "launch", "launches"),
      found.closing_text(faults_.empty() ? ""
                                         : plural(faults_.size(), "ended by a fault", "ended by faults")));
  if (!are_complete_)
    text += "; this is not all: a process could not write its reports (TMPDIR)";
  for (const ProgramRunOnce& run : runs_)
    if (run.status != 0) {
      text += fmt::format("; exit status {}", run.status);
      if (run.schedule)
        text +=
            fmt::format(" in schedule {} (to repeat it: LEMMA_SCHEDULE={})", *run.schedule, *run.schedule);
      break;
    }
  print_text(stderr, text + "\n");
}

json ExecReport::to_json() const {
  json out = {{"command", repeating_command()}, {"exit_status", exit_status()}, {"runs", json::array()},
              {"processes", commands_},         {"kernels", json::array()},     {"faults", json::array()},
              {"running", json::array()},       {"complete", are_complete_}};
  for (const ProgramRunOnce& run : runs_)
    out["runs"].push_back(
        {{"exit_status", run.status}, {"schedule", run.schedule ? json(*run.schedule) : json(nullptr)}});
  for (const KernelCounts& kernel : kernels_)
    out["kernels"].push_back({{"kernel", kernel.kernel},
                              {"name", demangled_kernel(kernel.kernel)},
                              {"launches", kernel.launches},
                              {"seconds", kernel.seconds},
                              {"warp_instructions", kernel.warp_instructions},
                              {"lane_instructions", kernel.lane_instructions},
                              {"compiled_instructions", kernel.compiled_instructions},
                              {"findings", findings_in(found.findings(), kernel.kernel)},
                              {"faults", kernel.faults}});
  for (const RunningLaunch& running : running_) {
    json warps = json::array();
    for (const RunningLaunch::Warps& each : running.warps)
      warps.push_back({{"count", each.count}, {"place", json_of(each.place)}});
    out["running"].push_back({{"kernel", running.kernel},
                              {"name", demangled_kernel(running.kernel)},
                              {"seconds", running.seconds},
                              {"warp_instructions", running.warp_instructions},
                              {"ctas", running.ctas},
                              {"ctas_done", running.ctas_done},
                              {"warps", std::move(warps)}});
  }
  for (const KernelFault& fault : faults_) {
    json one = cli::to_json(fault.fault);
    one["kernel"] = fault.kernel;
    out["faults"].push_back(std::move(one));
  }
  found.add_to(out);
  return out;
}

json ExecReport::to_sarif() const {
  return cli::to_sarif({.findings = found.findings(),
                        .faults = faults_,
                        .command = repeating_command(),
                        .exit_status = exit_status()});
}

} // namespace lemma::cli

// A .mlir with host code: that part is machine code in this process, and launches the kernels through the
// runtime. See run_steps.h; program.h is one such run.
#include "run_steps.h"

#include "program.h"
#include "run_report.h"

#include "lemma/printable.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace lemma::cli {
namespace {

// The other schedules of a whole program: each has run it to its end, in memory of its own.
Result<void, Stop> explore_program(Run& run, const Program& program, const ProgramRun& usual) {
  auto first = schedule_run(usual, run.arguments);
  if (!first)
    return Unexpected<Stop>{std::move(first).error()};
  const auto once = [&](uint64_t schedule, uint64_t share) -> Result<ScheduleRun, Stop> {
    Program scheduled = program;
    scheduled.options.launch.schedule = schedule;
    scheduled.options.launch.observer = nullptr; // of the usual schedule
    scheduled.options.launch.fidelity = false;
    scheduled.options.max_memory_bytes = memory_share(run.options.max_memory_bytes, share);
    RunArguments arguments = run.arguments.afresh();
    const auto crashed = [&](const std::string& text) {
      show_host_stop(run,
                     {.text = fmt::format("lemma: schedule {} ({}) ends with a signal:\n{}lemma: to repeat "
                                          "schedule {}: {}\n",
                                          schedule, schedule_text(schedule), text, schedule,
                                          printable(repeating_schedule(schedule))),
                      .exit_status = kFailed},
                     usual.report);
    };
    ProgramRun ran;
    if (auto done = run_program(scheduled, arguments, Printing::keep, crashed, ran); !done)
      return Unexpected<Stop>{std::move(done).error()};
    return schedule_run(ran, arguments);
  };
  Explored explored;
  explored.options.ptx = run.ptx_name();
  explored.options.schedules = run.options.schedules;
  explored.options.stop = run.config.stop;
  explored.run = once;
  return explore(run, explored, *std::move(first), output_names(program, run.arguments));
}

} // namespace

Result<ExitStatus, Stop> run_whole(Run& run, const std::string& text) {
  catch_interrupts(run);
  const Program program{text,
                        {.name = run.file,
                         .device = run.options.device,
                         .arch = run.options.arch,
                         .entry = run.options.entry.empty() ? "main" : run.options.entry,
                         .schedule = run.options.matmul_schedule,
                         .allow_tf32 = run.options.allow_tf32,
                         .max_memory_bytes = run.options.max_memory_bytes,
                         .launch = run.config}};
  ProgramRun ran;
  const auto crashed = [&](const std::string& text) {
    run.found.add(ran.report.findings);
    show_host_stop(run, {.text = text, .exit_status = kFailed}, ran.report);
  };
  if (auto done = run_program(program, run.arguments,
                              run.options.schedules ? Printing::show_and_keep : Printing::show, crashed, ran);
      !done)
    return Unexpected<Stop>{std::move(done).error()};
  if (run.options.schedules == 0 || ran.report.outcome == Outcome::stopped ||
      ran.report.outcome == Outcome::unsupported)
    run.found.add(ran.report.findings);
  else if (auto explored = explore_program(run, program, ran); !explored)
    return Unexpected<Stop>{std::move(explored).error()};
  if (ran.stopped) {
    show_host_stop(run, *ran.stopped, ran.report);
    show_watched(run, ran.report);
    std::vector<Fault> faults;
    if (ran.stopped->report && ran.report.fault && ran.report.outcome != Outcome::stopped)
      faults.push_back(*ran.report.fault);
    return write_sarif(run, static_cast<ExitStatus>(ran.stopped->exit_status), faults, ran.stopped->kernel);
  }
  ExitStatus status = judge(run, ran.report);
  const auto compared = write_outputs(run);
  if (!compared)
    return compared;
  if (status == kSuccess)
    status = ran.returned != 0 ? kFailed : *compared; // what it returns is its own word
  status = write_sarif(run, status, {}, {});
  show_program(run, ran, status);
  return status;
}

} // namespace lemma::cli

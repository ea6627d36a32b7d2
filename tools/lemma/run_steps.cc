// Steps of a run, in the order in which they come. See run_steps.h.
#include "run_steps.h"

#include "application.h"
#include "files.h"
#include "interrupt.h"
#include "sarif.h"
#include "say.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lemma::cli {

Run::Run(const RunOptions& options, RunArguments arguments, bool as_json)
    : options(options), arguments(std::move(arguments)), config(options.config), file(options.file),
      found({.check = options.config.check,
             .notes = options.notes,
             .all = options.all,
             .suppress = options.suppress,
             .baseline = options.baseline,
             .show_in_libraries = options.show_in_libraries}) {
  if (as_json)
    json.emplace();
  if (options.coverage)
    config.observer = &coverage;
}

// A real GPU cannot be stopped: there Ctrl-C ends the process.
void catch_interrupts(Run& run) {
  if (run.options.device == "cpu")
    run.config.stop = &cli::catch_interrupts();
}

Result<void, Stop> explore(Run& run, const Explored& explored, ScheduleRun first,
                           std::vector<std::string> outputs) {
  auto found = cli::explore(explored, std::move(first), run.found);
  if (!found)
    return Unexpected<Stop>{std::move(found).error()};
  run.exploration = *std::move(found);
  run.explored_outputs = std::move(outputs);
  run.found.add_suppressed(run.exploration->findings);
  return {};
}

ExitStatus judge(const Run& run, const Report& report) {
  switch (report.outcome) {
  case Outcome::finished:
    if (run.exploration && run.config.stop && run.config.stop->load())
      return static_cast<ExitStatus>(interrupt_status());
    return run.found.has_errors() || (run.exploration && has_failed(*run.exploration)) ? kFailed : kSuccess;
  case Outcome::unsupported:
    return kUnsupported;
  case Outcome::stopped:
    return static_cast<ExitStatus>(interrupt_status());
  default:
    return kFailed;
  }
}

Result<ExitStatus, Stop> write_outputs(Run& run) {
  auto comparisons = run.arguments.write_outputs();
  if (!comparisons)
    return Unexpected<Stop>{std::move(comparisons).error()};
  run.comparisons = *std::move(comparisons);
  run.outputs_written = true;
  const bool equal = std::all_of(run.comparisons.begin(), run.comparisons.end(),
                                 [](const OutputComparison& c) { return c.result.equal; });
  return equal ? kSuccess : kFailed;
}

void leave_outputs(Run& run) {
  if (!run.arguments.has_outputs())
    return;
  if (!run.options.keep_outputs)
    return say("no output was written; --keep-outputs writes what there is");
  const auto written = run.arguments.write_outputs();
  run.outputs_written = written.ok();
  say(written ? "the outputs were written as they were at the end of the run, and not compared"
              : "no output was written: " + written.error().error.text);
}

ExitStatus write_sarif(const Run& run, ExitStatus status, std::span<const Fault> faults,
                       const std::string& kernel) {
  if (run.options.sarif.empty())
    return status;
  std::vector<KernelFault> of_kernel;
  for (const Fault& fault : faults)
    of_kernel.push_back({fault, kernel});
  const nlohmann::json sarif = to_sarif({.findings = run.found.findings(),
                                         .faults = of_kernel,
                                         .file = run.ptx_name(),
                                         .command = repeating_command(),
                                         .exit_status = status});
  const std::string text = sarif.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  const auto written = write_file(run.options.sarif, std::as_bytes(std::span(text)));
  if (written)
    return status;
  say(written.error());
  return status == kSuccess ? kUsage : status;
}

} // namespace lemma::cli

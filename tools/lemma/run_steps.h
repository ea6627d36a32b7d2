// What the steps of `lemma run` share, and the steps that both kinds of run have. How a run flows: run.cc.
//
// Tests: tests/cli/.
#pragma once

#include "check_output.h"
#include "coverage.h"
#include "exploration.h"
#include "json_output.h"
#include "run_arguments.h"
#include "run_options.h"

#include "lemma/lemma.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lemma::cli {

struct Run {
  // `options` outlives it.
  Run(const RunOptions& options, RunArguments arguments, bool as_json);

  const RunOptions& options;
  RunArguments arguments;
  LaunchConfig config;  // the options', and what watches and stops the launches
  std::string file;     // as messages call it: "<stdin>"
  bool is_mlir = false; // else PTX
  CheckOutput found;    // so far, of all launches
  Coverage coverage;    // likewise
  std::optional<JsonOutput> json;
  std::optional<Exploration> exploration;    // once all schedules have run
  std::vector<std::string> explored_outputs; // what they are called
  std::optional<uint64_t> predicted_in; // the schedule that a finding comes from which the run itself lacks
  std::vector<OutputComparison> comparisons;
  bool outputs_written = false;

  // As messages call the PTX.
  std::string ptx_name() const { return is_mlir ? file + ".ptx" : file; }
};

// --- the two kinds of run

// One kernel, of a PTX text or of a .mlir: run_kernel.cc.
Result<ExitStatus, Stop> run_kernel(Run& run, std::string text);
// A .mlir with host code, which makes its launches itself; the --arg are its entry's arguments: run_whole.cc.
Result<ExitStatus, Stop> run_whole(Run& run, const std::string& text);

// --- what they share: run_steps.cc

// From now on Ctrl-C stops the virtual GPU.
void catch_interrupts(Run& run);
// All schedules but the usual one, whose run is `first`; `outputs`: what its outputs are called.
Result<void, Stop> explore(Run& run, const Explored& explored, ScheduleRun first,
                           std::vector<std::string> outputs);
// How the launches ended, and what was found; without comparisons.
ExitStatus judge(const Run& run, const Report& report);
// Of a run that ended well. kFailed if an output is not what it must be.
Result<ExitStatus, Stop> write_outputs(Run& run);
// Of a run that did not; says what became of them.
void leave_outputs(Run& run);
// Findings so far, and the faults that ended it, to --sarif's file. The status, or that of what went wrong.
ExitStatus write_sarif(const Run& run, ExitStatus status, std::span<const Fault> faults,
                       const std::string& kernel);

} // namespace lemma::cli

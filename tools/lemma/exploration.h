// `lemma run --explore`: one launch, or one program, in many schedules, each on a device of its own, and what
// differs among them, shown and in --json.
//
// Tests: tests/cli/explore_cli_test.py, tests/mlir/run/explore.mlir.
#pragma once

#include "check_output.h"
#include "run_arguments.h"

#include "lemma/explore.h"
#include "lemma/lemma.h"
#include "lemma/mlir.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lemma::cli {

// A launch, and what it takes to make it again.
struct ScheduledLaunch {
  std::string text; // PTX
  LoadOptions load;
  DeviceOptions device;
  std::string kernel;
  LaunchConfig config;           // of the usual schedule
  const RunArguments& arguments; // that have read their files
  const MlirKernel* mlir = nullptr;
};
Result<ScheduleRun, Stop> run_launch(const ScheduledLaunch& launch, uint64_t schedule, uint64_t share);

// Of the memory that a device may take, when so many are open at the same time. `most` as
// DeviceOptions::max_memory_bytes.
uint64_t memory_share(uint64_t most, uint64_t share);

// What is run, and how often. `run` as lemma::explore() has it.
struct Explored {
  ExploreOptions options;
  std::function<Result<ScheduleRun, Stop>(uint64_t schedule, uint64_t share)> run;
};
Result<Exploration, Stop> explore(const Explored& explored, ScheduleRun first, CheckOutput& found);

// Is there a fault, or another output that floating-point atomics do not explain?
bool has_failed(const Exploration& exploration);
// Outputs that differ, for a terminal; then the command that repeats the first schedule that is unlike the
// usual one. What it has found is in Exploration::findings.
std::string to_text(const Exploration& exploration, const std::vector<std::string>& outputs);
// "lemma run ... --schedule 3"
std::string repeating_schedule(uint64_t schedule);
// "8 schedules, 1 with a fault"
std::string closing_text(const Exploration& exploration);
nlohmann::json to_json(const Exploration& exploration, const std::vector<std::string>& outputs);

} // namespace lemma::cli

// `lemma run --explore`: one launch in many schedules, each on a device of its own, and what differs among
// them, shown and in --json.
//
// Tests: tests/cli/explore_cli_test.py.
#pragma once

#include "check_output.h"
#include "run_arguments.h"

#include "lemma/explore.h"
#include "lemma/lemma.h"
#include "lemma/mlir.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace lemma::cli {

// The launch, and what it takes to make it again.
struct Explored {
  std::string text; // PTX
  LoadOptions load;
  DeviceOptions device;
  std::string entry, kernel;
  LaunchConfig config;           // of the usual schedule
  const RunArguments& arguments; // that have read their files
  const MlirKernel* mlir = nullptr;
  uint64_t schedules = 0;
};

// `first` is the report of the usual schedule, whose outputs `explored.arguments` has.
Result<Exploration, Stop> explore(const Explored& explored, Report first, CheckOutput& found);

// Is there a fault, or another output that floating-point atomics do not explain?
bool has_failed(const Exploration& exploration);
// Outputs that differ, for a terminal; then the command that repeats the first schedule that is unlike the
// usual one. What it has found is in Exploration::findings.
std::string to_text(const Exploration& exploration, const std::vector<std::string>& outputs);
// "8 schedules, 1 with a fault"
std::string closing_text(const Exploration& exploration);
nlohmann::json to_json(const Exploration& exploration, const std::vector<std::string>& outputs);

} // namespace lemma::cli

// An MLIR program that launches its kernels itself, run whole, in any schedule: its launches put together in
// one report, and what it has printed and returned.
//
// Tests: tests/mlir/run/, tests/mlir/programs/.
#pragma once

#include "run_arguments.h"

#include "lemma/explore.h"
#include "lemma/mlir.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {

struct Program {
  std::string text;
  MlirRunOptions options; // but for arguments and callbacks
};

struct ProgramRun {
  // Of all launches: findings merged, counts added, the fault of the one that did not end well. A wrong call
  // of the runtime is a fault, too.
  Report report;
  uint64_t launches = 0; // that ended well
  int32_t returned = 0;
  std::optional<MlirStop> stopped;
  std::string printed; // if it was kept
};

// What becomes of what a program prints and of its warnings.
enum class Printing : uint8_t { show, show_and_keep, keep };

// `run` has the launches so far when host code got a signal and `crashed` is called
// (MlirRunOptions::crashed).
Result<void, Stop> run_program(const Program& program, RunArguments& arguments, Printing printing,
                               const std::function<void(const std::string&)>& crashed, ProgramRun& run);

// The run for explore(): the outputs of `arguments`, then what it printed and what it returned. Addresses of
// memrefs' memory, which printMemref shows, are left out: they are the host's.
Result<ScheduleRun, Stop> schedule_run(const ProgramRun& run, const RunArguments& arguments);
// What these outputs are called.
std::vector<std::string> output_names(const Program& program, const RunArguments& arguments);

} // namespace lemma::cli

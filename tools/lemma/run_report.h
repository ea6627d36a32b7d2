// What is said about a run: its last words on standard error, --stats, --coverage and --fidelity on standard
// output, or the one JSON object.
//
// Tests: tests/cli/.
#pragma once

#include "program.h"
#include "run_steps.h"

#include "lemma/lemma.h"
#include "lemma/mlir.h"

namespace lemma::cli {

// A kernel that was launched, and how that went.
struct Launched {
  const Device& device;
  const Module& module;
  const Kernel& kernel;
  const Report& report;
};
void show_launch(const Run& run, const Launched& launched);
void print_launch(Run& run, const Launched& launched, ExitStatus status); // as JSON

// A whole program that ran to its end.
void show_program(Run& run, const ProgramRun& ran, ExitStatus status);
// One that could not go on, and what became of its outputs; `report`: of its launches.
void show_host_stop(Run& run, const MlirStop& stop, const Report& report);

// What --coverage and --fidelity have seen, but for JSON; `report`: the launch's, or of all of a program.
void show_watched(const Run& run, const Report& report);

// Why there is no run, or no end of it. The exit status.
int show_stop(Run& run, const Stop& stop);

} // namespace lemma::cli

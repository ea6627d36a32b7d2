// One launch in many schedules: who runs when, when asynchronous operations complete, when try_wait gives up,
// which path of a branch goes first - as the PTX ISA allows, and a GPU may never have done yet.
//
//   ScheduleRun first = run(0)...;
//   auto found = explore({.schedules = 32}, std::move(first), run);   // run(1) to run(31), side by side
//   std::cerr << to_text(found->findings) << ...
//
// Each schedule is a launch of its own with LaunchConfig::schedule set, in memory of its own, on one host
// thread: run() opens a device, loads, allocates, launches. What differs from the first, which is the usual
// schedule - findings, a fault, the bits of the outputs - depends on order. A schedule repeats with its
// number, the seed and the launch's configuration.
//
// Tests: tests/unit/runtime/explore_test.cc, tests/cli/explore_cli_test.py.
#pragma once

#include "lemma/findings.h"
#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lemma {

// What is unusual about LaunchConfig::schedule: "the last warps first, asynchronous operations late".
std::string schedule_text(uint64_t schedule);

// Whether strong loads of global memory get older values there, of those that the memory consistency model
// still allows, in launches that are checked (LaunchConfig::check).
bool gives_old_values(uint64_t schedule);

// How one schedule went, and what it has written. Of a program with several launches, all of them together:
// the findings merged, the fault of the one that did not end well.
struct ScheduleRun {
  Report report;
  std::vector<std::vector<std::byte>> outputs = {}; // as many in each
  std::string kernel = {};                          // that has the fault; empty: ExploreOptions::kernel
};

struct ExploreOptions {
  std::string kernel = {}, ptx = {};       // Finding::kernel and ptx, for faults
  uint64_t schedules = 8;                  // with the usual one
  std::vector<uint64_t> only = {};         // not empty: these, and the usual one
  unsigned workers = 0;                    // host threads; 0: one for each core that the process may use
  const std::atomic<bool>* stop = nullptr; // as LaunchConfig::stop: no further schedule begins
};

// A byte of an output that is another than in the first schedule, or is not there.
struct OutputDifference {
  size_t output = 0;
  uint64_t offset = 0; // of the first that differs
  uint64_t bytes = 0;  // that differ, in this output
};

struct ExploredSchedule {
  uint64_t schedule = 0;
  Outcome outcome = Outcome::finished;
  std::optional<Fault> fault = {};
  std::optional<OutputDifference> difference = {}; // of those that finished
  bool has_new_finding = false;                    // one that the first schedule lacks; no note
};

struct Exploration {
  std::vector<ExploredSchedule> schedules; // by number, the first included
  // Of all, merged; Finding::schedule and schedules say of which. A fault that the usual schedule lacks is
  // one, of the id Fault::id, or "fault.trap".
  std::vector<Finding> findings;
  bool float_atomics = false; // ... were executed: they explain differences of outputs
  // The first schedule that has a finding or a fault that the usual one lacks, or other outputs.
  std::optional<uint64_t> first_unlike = {};
};

// `run` is called from several threads, with the schedule's number and by how many it has to divide the
// memory that there is. One that finds too little, or waits for ever because of that, is run again with all
// of it. Errors: the first that `run` returns.
Result<Exploration, Error>
explore(const ExploreOptions& options, const ScheduleRun& first,
        const std::function<Result<ScheduleRun, Error>(uint64_t schedule, uint64_t share)>& run);

} // namespace lemma

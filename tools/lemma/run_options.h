// The command line of `lemma run`: its words, their help, and what they mean.
//
// Not here: what an --arg says (arg_spec.h), and whether its files are there (run_arguments.h).
//
// Tests: tests/cli/cli_test.py.
#pragma once

#include "run_arguments.h"
#include "stop.h"

#include "lemma/launch.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::cli {

struct RunOptions {
  std::string file;                // as given: "-" is standard input
  std::string device, arch, entry; // arch, entry: empty where they are left out
  std::string matmul_schedule;     // empty: as the products' sizes suggest
  bool allow_tf32 = false;         // products of f32 may be tf32's
  bool has_grid = false, has_block = false;
  LaunchConfig config;                   // but for its callbacks
  uint64_t schedules = 0;                // --explore; 0: the one run
  uint64_t max_memory_bytes = 0;         // 0: as DeviceOptions has it
  std::string suppress, baseline, sarif; // files; empty: none
  std::string dump_code;                 // a pass, or "all"; empty: the kernel runs
  bool stats = false, coverage = false, fidelity = false, notes = false, all = false, keep_outputs = false;
  bool show_in_libraries = false; // what is suppressed there
};

class RunCommandLine {
public:
  // Adds the options and the help to the command; it takes their words.
  explicit RunCommandLine(CLI::App& app);

  bool wants_json() const { return words_.json; }
  // What the words mean; the --arg go to `arguments`. Of a wrong command line, what was read before.
  Result<void, Stop> read(RunOptions& options, RunArguments& arguments) const;

private:
  Result<void, Stop> read_numbers(RunOptions& options) const;
  Result<void, Stop> check_together(const RunOptions& options) const;

  struct Words {
    std::string file, device = "cpu", arch, entry, matmul_schedule, grid, block, cluster, smem = "0",
                      async = "eager", elect = "lowest", engine, on_fault = "stop", seed = "0",
                      schedule = "0", explore = "0", check_ctas = "0", max_instructions = "0",
                      max_memory = "0";
    std::string suppress, baseline, sarif, dump_code;
    bool deterministic = false, stats = false, coverage = false, fidelity = false, check = false,
         notes = false, all = false, json = false, keep_outputs = false, allow_tf32 = false,
         show_in_libraries = false;
    std::vector<std::string> args;
  } words_;
};

} // namespace lemma::cli

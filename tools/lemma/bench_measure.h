// What `lemma bench` and `lemma tune` measure, and how it is shown: groups of launches in turns with each
// other or with the fastest of cuBLAS's algorithms.
//
// Tests: tests/cli/bench_cli_test.py.
#pragma once

#include "bench_program.h"
#include "stop.h"

#include "lemma/timing.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lemma::cli {

// Words that both commands take.
struct BenchWords {
  std::string device = "cpu", arch, cublaslt, l2 = "flushed", rounds = "5", launches = "0", warm_up = "3";
  bool json = false, allow_tf32 = false;
};
void add_bench_options(CLI::App& app, BenchWords& words);

// Of a file or of --matmul, what both commands are told.
struct ProgramWords {
  std::string file, entry = "main", schedule;
  ProductWords products;
  std::vector<std::string> args;
};
void add_program_options(CLI::App& app, ProgramWords& words);

// What both commands begin with.
struct BenchStart {
  TimingOptions options;
  std::vector<BenchProgram> programs;
  RunArguments given;
  Device device;
};
Result<BenchStart, Stop> start(const ProgramWords& words, const BenchWords& bench);

struct Measured {
  Spread seconds = {}; // of the kernels that multiply; of a group that is no product: of all
  std::optional<Spread> with_copies = {}; // of all steps; absent: there are no copies
  std::optional<GpuState> state = {};
  size_t samples = 0;
};

// cuBLAS's best for a product.
struct Rival {
  Measured measured = {};
  std::string name = {};   // "cuBLAS, heuristic 2"
  std::string absent = {}; // why there is none; empty: there is
};

struct BenchResult {
  Measured ours;
  Rival cublas;
  std::string no_state; // Timings::no_state
};

// Where a product's matrices are.
struct Matrices {
  uint64_t a = 0, b = 0, c = 0;
};

// The group, and beside it cuBLAS (null: there is none, and `why` says why).
Result<BenchResult, Stop> measure(const Device& device, const BenchGroup& group, const CublasLt* cublas,
                                  const std::string& why, const std::optional<Matrices>& matrices,
                                  const TimingOptions& options);

// Several groups in turns, nothing beside them.
Result<std::vector<Measured>, Stop>
measure_all(const Device& device, std::span<const BenchGroup* const> groups, const TimingOptions& options);

// The exit status; says what went wrong.
int show(bool json, const Result<void, Stop>& done);

double teraflops(const ProductShape& shape, double seconds);
double geometric_mean(std::span<const double> values);
// "26.65 us"
std::string time_text(double seconds);
nlohmann::json to_json(const Spread& seconds);
nlohmann::json to_json(const ProductShape& shape);
nlohmann::json to_json(const Measured& measured, const std::optional<ProductShape>& shape);

} // namespace lemma::cli

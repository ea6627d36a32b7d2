// What the checker of races costs: kernels with it and without, in turns. The rate is that of the fastest run
// with the checker, which other programs on the machine have disturbed least; `compare` says how much that is
// of the fastest without. A run with one worker takes CPU time, one with several wall time.
//
// The kernels are of bench/kernels/check_costs.cu, whose words many threads read and whose counters many
// update, and of tests/programs. A run with a finding ends the process, and so does one whose result is not
// that of the run without the checker.
#include "kernel.h"
#include "moment.h"
#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace lemma::bench {

void run_checked(benchmark::State& state, Kernel& kernel, double work, const std::string& unit,
                 const std::function<void()>& before) {
  double without = std::numeric_limits<double>::infinity(), seconds = without;
  for (auto _ : state)
    for (const bool check : {false, true}) {
      before();
      kernel.launch.check = check;
      double& least = check ? seconds : without;
      least = std::min(least, kernel.launch.workers == 1 ? cpu_seconds_of(kernel) : seconds_of(kernel));
    }
  set_value(state, work / seconds, unit);
  compare(state, work / without, "without --check", unit);
  state.counters["remembered_bytes_a_byte"] = kernel.remembered;
}

namespace {

// Sums and maxima of 2^22 values, by shuffles.
constexpr uint32_t kValues = 1 << 22;
void give_values(Kernel& kernel, unsigned workers) {
  constexpr uint32_t kBlock = 256;
  const uint64_t in = kernel.allocate(std::vector<uint32_t>(kValues, 0x3f800000));
  const uint64_t sums = kernel.allocate(kValues / kBlock * 4), maxima = kernel.allocate(kValues / kBlock * 4);
  kernel.params = pack_params(in, sums, maxima);
  kernel.launch.grid = {kValues / kBlock, 1, 1};
  kernel.launch.block = {kBlock, 1, 1};
  kernel.launch.workers = workers;
}

// The kernels of check_costs.cu: each takes (in, out, scratch).
constexpr uint32_t kThreads = 256, kCtas = 8, kInputs = 4096;
constexpr uint32_t kScratch = 64 + kCtas * kThreads * 8;
constexpr const char* kCostly[] = {
    "shared_table",   "shared_broadcast", "global_broadcast", "global_gather",    "stencil",
    "global_counter", "shared_counter",   "shared_histogram", "global_histogram", "scan_by_barriers",
    "scan_by_warps",  "bitonic_sort",     "tree_sum",         "last_block_sum",   "edit_distance",
    "knapsack",       "tiled_product",    "transpose",        "chained_scan",     "compaction",
};

void run_costly(benchmark::State& state, const char* name) {
  Kernel kernel(read_file(LEMMA_BENCH "/kernels/check_costs.ptx"), name);
  std::vector<uint32_t> inputs(kInputs);
  uint32_t number = 1;
  for (uint32_t& input : inputs)
    input = (number = number * 1664525 + 1013904223) >> 8;
  const uint64_t in = kernel.allocate(inputs), out = kernel.allocate(uint64_t{4} * kCtas * kThreads),
                 scratch = kernel.allocate(uint64_t{4} * kScratch);
  kernel.params = pack_params(in, out, scratch);
  kernel.launch.grid = {kCtas, 1, 1};
  kernel.launch.block = {kThreads, 1, 1};
  kernel.run();
  const auto result = [&] {
    std::vector<uint32_t> all;
    std::ranges::copy(kernel.read<uint32_t>(out, kCtas * kThreads), std::back_inserter(all));
    std::ranges::copy(kernel.read<uint32_t>(scratch, kScratch), std::back_inserter(all));
    return all;
  };
  const std::vector<uint32_t> wanted = result();
  const double lanes = static_cast<double>(kernel.stats().lane_instructions.value_or(0)) * 1e-6;
  run_checked(state, kernel, lanes, "M lane-instr",
              [&] { std::ranges::fill(kernel.read<uint32_t>(scratch, kScratch), 0); });
  if (result() != wanted)
    state.SkipWithError("the result under the checker is another one");
}

} // namespace

void register_checked_gemm();

void register_check() {
  register_checked_gemm();
  for (const auto& [workers, name] : {std::pair{1u, "1 worker"}, std::pair{0u, "all cores"}})
    benchmark::RegisterBenchmark(
        fmt::format("check/reduction of 2^22 values, {}", name).c_str(),
        [workers = workers](benchmark::State& state) {
          Kernel kernel(read_file(LEMMA_EXAMPLES "/../tests/programs/reduce_shuffle/reduce_shuffle.ptx"),
                        "reduce_shuffle");
          give_values(kernel, workers);
          run_checked(state, kernel, 1e-6 * kValues, "M values");
        })
        ->UseRealTime();
  for (const char* name : kCostly) {
    std::string words = name;
    std::ranges::replace(words, '_', ' ');
    benchmark::RegisterBenchmark(("check/" + words).c_str(), [=](benchmark::State& state) {
      run_costly(state, name);
    })->UseRealTime();
  }
}

} // namespace lemma::bench

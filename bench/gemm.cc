// The GEMM example as a whole, from PTX text to result: CPU time of the process with one worker, and how much
// faster two workers are by the clock. For the latter runs with one and with two workers take turns, so that
// both see the same load of the machine; where it has no idle cores two workers cannot be faster.
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

#include <chrono>

namespace lemma::bench {
namespace {

constexpr uint32_t kSize = 512; // of the square matrices
constexpr uint32_t kTile = 64;  // of a CTA
constexpr double kGigaflops = 2e-9 * kSize * kSize * kSize;

MatrixOutputs run_once(const std::string& text, unsigned workers) {
  Kernel kernel(text, "gemm_mma");
  const std::vector<uint32_t> ones(kSize * kSize / 2, 0x3c003c00); // f16
  const uint64_t a = kernel.allocate(ones), b = kernel.allocate(ones);
  const uint64_t d = kernel.allocate(uint64_t{kSize} * kSize * 4);
  kernel.launch.grid = {kSize / kTile, kSize / kTile, 1};
  kernel.launch.block = {128, 1, 1};
  kernel.launch.workers = workers;
  kernel.params = pack_params(a, b, d, kSize, kSize, kSize);
  return kernel.run().matrix_outputs.value();
}

double wall_seconds(const std::string& text, unsigned workers) {
  const auto begin = std::chrono::steady_clock::now();
  run_once(text, workers);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string example() {
  return read_file(LEMMA_EXAMPLES "/gemm_mma/gemm_mma.ptx");
}

void run_gemm(benchmark::State& state, unsigned workers) {
  const std::string text = example();
  MatrixOutputs outputs;
  for (auto _ : state)
    outputs = run_once(text, workers);
  require_vector_paths(state, outputs);
  set_rate(state, kGigaflops * static_cast<double>(state.iterations()), "GFLOP");
}

void run_scaling(benchmark::State& state) {
  const std::string text = example();
  double one = 0, two = 0;
  for (auto _ : state) {
    one += wall_seconds(text, 1);
    two += wall_seconds(text, 2);
  }
  const double work = kGigaflops * static_cast<double>(state.iterations());
  set_value(state, work / two, "GFLOP");
  compare(state, work / one, "1 worker by the clock", "GFLOP");
}

} // namespace

void register_gemm() {
  for (const unsigned workers : {1u, 2u})
    benchmark::RegisterBenchmark(
        fmt::format("gemm/{0}x{0}x{0}, CPU time, workers: {1}", kSize, workers).c_str(),
        [=](benchmark::State& state) { run_gemm(state, workers); })
        ->MeasureProcessCPUTime();
  benchmark::RegisterBenchmark(fmt::format("gemm/{0}x{0}x{0}, wall time, workers: 2", kSize).c_str(),
                               run_scaling)
      ->UseRealTime();
}

} // namespace lemma::bench

// The GEMM example as a whole, from PTX text to result, with one worker and with two. Wall time, since two
// workers are to be faster by it: compare only what ran on an idle machine.
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

#include <chrono>

namespace lemma::bench {
namespace {

constexpr uint32_t kSize = 256; // of the square matrices
constexpr uint32_t kTile = 64;  // of a CTA
constexpr double kGigaflops = 2e-9 * kSize * kSize * kSize;

void run_once(const std::string& text, unsigned workers) {
  Kernel kernel(text, "gemm_mma");
  const std::vector<uint32_t> ones(kSize * kSize / 2, 0x3c003c00); // f16
  const uint64_t a = kernel.allocate(ones), b = kernel.allocate(ones);
  const uint64_t d = kernel.allocate(uint64_t{kSize} * kSize * 4);
  kernel.launch.grid = {kSize / kTile, kSize / kTile, 1};
  kernel.launch.block = {128, 1, 1};
  kernel.launch.workers = workers;
  kernel.launch.params = pack_params(a, b, d, kSize, kSize, kSize);
  kernel.run();
}

void run_gemm(benchmark::State& state, unsigned workers) {
  static double one_worker = 0; // GFLOP/s
  const std::string text = read_file(LEMMA_EXAMPLES "/gemm_mma/gemm_mma.ptx");
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state)
    run_once(text, workers);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double work = kGigaflops * static_cast<double>(state.iterations());
  set_rate(state, work, "GFLOP");
  if (workers == 1)
    one_worker = work / seconds.count();
  else if (one_worker > 0)
    compare(state, one_worker, "1 worker", "GFLOP");
}

} // namespace

void register_gemm() {
  for (const unsigned workers : {1u, 2u})
    benchmark::RegisterBenchmark(fmt::format("gemm/{0}x{0}x{0}, workers: {1}", kSize, workers).c_str(),
                                 [=](benchmark::State& state) { run_gemm(state, workers); })
        ->UseRealTime();
}

} // namespace lemma::bench

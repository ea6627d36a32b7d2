// Matrix products as Triton makes them of its tutorial's kernel, 1024 x 1024 x 1024 with one worker:
// cp.async, ldmatrix and mma.sync for sm_80, wgmma for sm_90. FLOP/s by the clock beside the host's f32 peak.
// bench/triton/ has the PTX and what makes it.
#include "elements.h"
#include "host_peak.h"
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

namespace lemma::bench {
namespace {

constexpr uint32_t kSize = 1024;
constexpr uint32_t kTile = 128; // of a CTA
constexpr double kGigaflops = 2e-9 * kSize * kSize * kSize;

struct TritonGemm {
  const char* file; // in bench/triton/ptx
  Element element;  // of A and B; those of C are four bytes
  size_t elements_in_word;
  uint32_t threads, shared_bytes;
};

constexpr TritonGemm kGemms[] = {
    {"matmul_f16.sm_80", Element::f16, 2, 128, 32768},
    {"matmul_tf32.sm_80", Element::tf32, 1, 256, 65536},
    {"matmul_s8.sm_80", Element::s8, 4, 128, 32768},
    {"matmul_f16.sm_90", Element::f16, 2, 128, 98304},
};

void run_triton(benchmark::State& state, const TritonGemm& gemm) {
  Kernel kernel(read_file(fmt::format("{}/triton/ptx/{}.ptx", LEMMA_BENCH, gemm.file)), "matmul_kernel");
  const std::vector<uint32_t> elements =
      random_words(gemm.element, size_t{kSize} * kSize / gemm.elements_in_word);
  const uint64_t a = kernel.allocate(elements), b = kernel.allocate(elements);
  const uint64_t c = kernel.allocate(uint64_t{kSize} * kSize * 4);
  const uint64_t no_scratch = 0;
  kernel.params = pack_params(a, b, c, kSize, kSize, kSize, no_scratch, no_scratch);
  kernel.launch.grid = {kSize / kTile, kSize / kTile, 1};
  kernel.launch.block = {gemm.threads, 1, 1};
  kernel.launch.shared_bytes = gemm.shared_bytes;
  for (auto _ : state)
    kernel.run();
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  set_rate(state, kGigaflops * static_cast<double>(state.iterations()),
           gemm.element == Element::s8 ? "GOP" : "GFLOP");
  if (gemm.element == Element::s8)
    compare(state, host_int8_peak_gops(), "the host's int8 peak", "GOP");
  else
    compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", "GFLOP");
}

} // namespace

void register_gemm_triton() {
  for (const TritonGemm& gemm : kGemms)
    benchmark::RegisterBenchmark(
        fmt::format("gemm/Triton {0}, {1}x{1}x{1}, CPU time, workers: 1", gemm.file, kSize).c_str(),
        [&gemm](benchmark::State& state) { run_triton(state, gemm); })
        ->MeasureProcessCPUTime();
}

} // namespace lemma::bench

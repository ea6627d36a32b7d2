// Attention as fast kernels do it, examples/attention, one worker: FLOP/s of the two products of each tile by
// CPU time, the softmax between them included, beside the host's f32 peak. For Hopper TMA, wgmma and named
// barriers, in bf16; for Ampere cp.async, ldmatrix and mma.sync, in f16.
//
// Not here: whether it is attention, which examples/attention/check.py looks at.
#include "elements.h"
#include "host_peak.h"
#include "kernel.h"
#include "layout/tensor_map.h"
#include "table.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace lemma::bench {
namespace {

constexpr uint32_t kSequence = 1024, kHeads = 2, kDim = 64, kMatrices = 3; // Q, K and V
constexpr double kGigaflops = 4e-9 * kSequence * kSequence * kDim * kHeads;

struct Attention {
  const char* file; // in examples/attention, and the kernel's name but for its dimension
  Element element;
  bool has_map;  // Q, K and V by a tensor map, or else by a pointer
  uint32_t tile; // rows of Q that a CTA has
  uint32_t threads, shared_bytes;
};

// Shared memory as examples/attention/README.md has it.
constexpr Attention kAttentions[] = {
    {"attention", Element::bf16, true, 128, 384, 81992},
    {"attention_mma", Element::f16, false, 64, 128, 40960},
};

std::vector<std::byte> pack_map(uint64_t address, uint32_t rows) {
  constexpr uint64_t kRow = kDim * 2, kHead = kRow * kSequence;
  const auto map = layout::encode(TensorMap{.type = TensorType::bf16,
                                            .address = address,
                                            .dims = {kDim, kSequence, kHeads, kMatrices},
                                            .strides_bytes = {kRow, kHead, kHead * kHeads},
                                            .box = {kDim, rows, 1, 1},
                                            .swizzle = TensorSwizzle::b128});
  return {map.begin(), map.end()};
}

void run_attention(benchmark::State& state, const Attention& attention) {
  Kernel kernel(read_file(fmt::format("{}/attention/{}.ptx", LEMMA_EXAMPLES, attention.file)),
                fmt::format("{}_{}", attention.file, kDim));
  const uint64_t qkv =
      kernel.allocate(random_words(attention.element, size_t{kMatrices} * kHeads * kSequence * kDim / 2));
  const uint64_t out = kernel.allocate(uint64_t{kHeads} * kSequence * kDim * 4);
  const bool causal = false, f32_out = true;
  const auto scale = static_cast<float>(std::numbers::log2e / std::sqrt(double{kDim}));
  kernel.params = attention.has_map ? pack_map(qkv, attention.tile) : pack_params(qkv);
  const std::vector<std::byte> rest = pack_params(out, kSequence, uint32_t{causal}, uint32_t{f32_out}, scale);
  kernel.params.insert(kernel.params.end(), rest.begin(), rest.end());
  kernel.launch.grid = {kSequence / attention.tile, kHeads, 1};
  kernel.launch.block = {attention.threads, 1, 1};
  kernel.launch.shared_bytes = attention.shared_bytes;
  for (auto _ : state)
    kernel.run();
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  set_rate(state, kGigaflops * static_cast<double>(state.iterations()), "GFLOP");
  compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", "GFLOP");
}

} // namespace

void register_attention() {
  for (const Attention& attention : kAttentions)
    benchmark::RegisterBenchmark(fmt::format("attention/{}_{}, {} of {}, CPU time, workers: 1",
                                             attention.file, kDim, kHeads, kSequence)
                                     .c_str(),
                                 [&attention](benchmark::State& state) { run_attention(state, attention); })
        ->MeasureProcessCPUTime();
}

} // namespace lemma::bench

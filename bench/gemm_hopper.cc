// The bf16 GEMM of examples/gemm_bf16 as a whole - TMA, mbarriers, wgmma, clusters - at 1024 x 1024 x 1024:
// FLOP/s by the clock with one worker, beside the arithmetic alone, numeric::dot() on dense tiles of the same
// shape measured in the same run; what part the one is of the other is the share of the time that goes into
// the matrix units. And with all cores beside one worker, there and at 4096 x 4096 x 4096.
#include "dot_form.h"
#include "elements.h"
#include "kernel.h"
#include "layout/tensor_map.h"
#include "moment.h"
#include "numeric/dot.h"
#include "table.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace lemma::bench {
namespace {

constexpr uint32_t kSize = 1024, kLargeSize = 4096;
constexpr uint32_t kTileM = 128, kTileN = 128, kTileK = 64;
constexpr uint32_t kSharedBytes = 196672, kThreads = 384; // as examples/gemm_bf16/README.md has it

double gigaflops(double size) {
  return 2e-9 * size * size * size;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::array<std::byte, layout::kTensorMapBytes> make_map(uint32_t size, uint64_t address, TensorType type,
                                                        std::vector<uint32_t> box) {
  return layout::encode(TensorMap{.type = type,
                                  .address = address,
                                  .dims = {size, size},
                                  .strides_bytes = {uint64_t{size} * layout::element_bytes(type)},
                                  .box = std::move(box),
                                  .swizzle = TensorSwizzle::b128});
}

// FLOP/s of the arithmetic of wgmma.m64n128k16 on dense tiles, in units of 1e9.
double dot_gigaflops() {
  constexpr int kRows = 64, kWarpRows = 16, kDepth = 16, kColumns = 128, kRounds = 500;
  using numeric::FloatFormat;
  const auto model = *numeric::dot_model(numeric::Arch::sm_90, numeric::DotUnit::wgmma, FloatFormat::bf16,
                                         FloatFormat::bf16, FloatFormat::f32, FloatFormat::f32, kDepth);
  const std::vector<uint32_t> a = words_of_few_bits(Element::bf16, kRows * kDepth / 2),
                              b = words_of_few_bits(Element::bf16, kColumns * kDepth / 2);
  Array<float> d(kRows * kColumns);
  const numeric::DotPlan plan(model, {kWarpRows, kColumns, kDepth});
  numeric::DotScratch scratch;
  numeric::ArrangedB arranged;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i)
    dot_of_warpgroup(plan, {.a = a.data(), .b = b.data(), .c = d.data(), .d = d.data()}, arranged, scratch);
  return 2e-9 * kRows * kDepth * kColumns * kRounds / seconds_since(begin);
}

constexpr const char* kFile = LEMMA_EXAMPLES "/gemm_bf16/gemm_bf16.ptx";

void give_arguments(Kernel& kernel, uint32_t size, unsigned workers) {
  const std::vector<uint32_t> elements = words_of_few_bits(Element::bf16, size_t{size} * size / 2);
  const uint64_t a = kernel.allocate(elements), b = kernel.allocate(elements);
  const uint64_t d = kernel.allocate(uint64_t{size} * size * 4);
  const std::array maps = {make_map(size, a, TensorType::bf16, {kTileK, kTileM}),
                           make_map(size, b, TensorType::bf16, {kTileK, kTileN / 2}),
                           make_map(size, d, TensorType::f32, {32, kTileM / 2})};
  kernel.params.resize(sizeof maps + sizeof(uint32_t));
  std::memcpy(kernel.params.data(), maps.data(), sizeof maps);
  const uint32_t steps = size / kTileK;
  std::memcpy(kernel.params.data() + sizeof maps, &steps, sizeof steps);
  kernel.launch.grid = {size / kTileM, size / kTileN, 1};
  kernel.launch.block = {kThreads, 1, 1};
  kernel.launch.cluster = {2, 1, 1};
  kernel.launch.shared_bytes = kSharedBytes;
  kernel.launch.workers = workers;
}

void run_on_one(benchmark::State& state) {
  Kernel kernel(read_file(kFile), "gemm_bf16");
  give_arguments(kernel, kSize, 1);
  double alone = 0, seconds = 0;
  for (auto _ : state) {
    alone += dot_gigaflops(); // in turns, so that both see the same load of the machine
    seconds += seconds_of(kernel);
  }
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  const auto rounds = static_cast<double>(state.iterations());
  set_value(state, gigaflops(kSize) * rounds / seconds, "GFLOP");
  compare(state, alone / rounds, "the arithmetic alone", "GFLOP");
}

void run_on_all(benchmark::State& state, uint32_t size) {
  Kernel kernel(read_file(kFile), "gemm_bf16");
  give_arguments(kernel, size, 1);
  run_on_all_cores(state, kernel, gigaflops(size), "GFLOP");
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
}

} // namespace

// The product of examples/ under the checker; other rows of check/ are in check.cc.
void register_checked_gemm() {
  for (const auto& [workers, name] : {std::pair{1u, "1 worker"}, std::pair{0u, "all cores"}}) {
    benchmark::RegisterBenchmark(
        fmt::format("check/bf16 GEMM on Hopper, {0}x{0}x{0}, {1}", kSize, name).c_str(),
        [workers = workers](benchmark::State& state) {
          Kernel kernel(read_file(kFile), "gemm_bf16");
          give_arguments(kernel, kSize, workers);
          run_checked(state, kernel, gigaflops(kSize), "GFLOP");
        })
        ->UseRealTime();
  }
}

void register_gemm_hopper() {
  const auto name = [](uint32_t size, const char* workers) {
    return fmt::format("gemm/bf16 on Hopper, {0}x{0}x{0}, wall time, {1}", size, workers);
  };
  benchmark::RegisterBenchmark(name(kSize, "1 worker").c_str(), run_on_one)->UseRealTime();
  benchmark::RegisterBenchmark(name(kSize, "all cores").c_str(), [](benchmark::State& state) {
    run_on_all(state, kSize);
  })->UseRealTime();
  if (is_moment())
    return;
  benchmark::RegisterBenchmark(name(kLargeSize, "all cores").c_str(),
                               [](benchmark::State& state) { run_on_all(state, kLargeSize); })
      ->UseRealTime()
      ->Iterations(1); // which takes many seconds
}

} // namespace lemma::bench

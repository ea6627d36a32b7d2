// The table of schedules, and which one is taken.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/schedule.h"

#include "lemma/mlir.h"

#include <array>

namespace lemma::nvgpu {
namespace {

// Measured on an H200 (docs/matmul.md). Clusters do not pay there: what multicast saves of the L2's bandwidth
// was not what held the kernel up, and an arrival that releases at the scope of the cluster waits for the
// thread's memory.
//
// mma and fma, on an H100: bf16 at 8192 the larger tile made 450 TFLOP/s, 128x128 404, 128x256 408; at 4096
// and 2048 they were within 1 percent.
constexpr std::array kSchedules{
    Schedule{.name = "128x256_s4_g16", .group = 16, .why = "the most work for what a stage brings"},
    Schedule{.name = "128x256_s4_c2x1_g8",
             .cluster_m = 2,
             .why = "two CTAs above each other share B: the L2 gives 32 KiB for each line of K and not 48"},
    Schedule{.name = "128x256_s4_c1x2_g8", .cluster_n = 2, .why = "two CTAs side by side share A"},
    Schedule{.name = "256x128_s4_g8", .tile_m = 256, .tile_n = 128, .why = "for few columns"},
    Schedule{.name = "256x128_s4_c2x1_g4",
             .tile_m = 256,
             .tile_n = 128,
             .cluster_m = 2,
             .group = 4,
             .why = "for few columns, B shared"},
    Schedule{.name = "128x128_s6_g8", .tile_n = 128, .stages = 6, .why = "small products: more CTAs at work"},
    Schedule{.name = "128x128_s6_k2",
             .tile_n = 128,
             .stages = 6,
             .splits = 2,
             .why = "few tiles, and K so deep that adding up parts of it costs less than multiprocessors "
                    "without work"},
    Schedule{.name = "128x128_s6_k4", .tile_n = 128, .stages = 6, .splits = 4, .why = "fewer tiles"},
    Schedule{.name = "128x128_s6_k8", .tile_n = 128, .stages = 6, .splits = 8, .why = "fewer tiles"},
    Schedule{.name = "128x128_s6_k16", .tile_n = 128, .stages = 6, .splits = 16, .why = "a tile or a few"},
    Schedule{.name = "mma_256x128_s3",
             .tile_m = 256,
             .tile_n = 128,
             .stages = 3,
             .why = "eight warps of 64 x 64: a quarter less to bring than for two tiles of 128 x 128",
             .family = MatmulFamily::mma,
             .warps_m = 4,
             .warps_n = 2},
    Schedule{.name = "mma_128x128_s3",
             .tile_m = 128,
             .tile_n = 128,
             .stages = 3,
             .why = "two CTAs share a multiprocessor: one multiplies while the other stores; fits in 99 KiB",
             .family = MatmulFamily::mma,
             .warps_m = 2,
             .warps_n = 2},
    Schedule{.name = "mma_128x256_s3",
             .tile_m = 128,
             .tile_n = 256,
             .stages = 3,
             .why = "for few rows",
             .family = MatmulFamily::mma,
             .warps_m = 2,
             .warps_n = 4},
    Schedule{.name = "mma_128x64_s4",
             .tile_m = 128,
             .tile_n = 64,
             .stages = 4,
             .why = "warps of 64 x 32, of whose sums of f64 a lane has 128 registers",
             .family = MatmulFamily::mma,
             .warps_m = 2,
             .warps_n = 2},
    Schedule{.name = "fma_128x64_s4",
             .tile_m = 128,
             .tile_n = 64,
             .stages = 4,
             .why = "eight rows and eight columns a lane: pairs of B's columns are read for one k at a time",
             .family = MatmulFamily::fma,
             .warps_m = 2,
             .warps_n = 2},
    Schedule{.name = "fma_128x128_s3",
             .tile_m = 128,
             .tile_n = 128,
             .stages = 3,
             .why = "eight rows and sixteen columns a lane: four k's of a column of B are read at once",
             .family = MatmulFamily::fma,
             .warps_m = 2,
             .warps_n = 2},
};

constexpr int64_t kLeastDepth = 1024; // of a part of K

} // namespace

std::span<const Schedule> schedules() {
  return kSchedules;
}

const Schedule* find_schedule(std::string_view name) {
  for (const Schedule& schedule : kSchedules)
    if (name == schedule.name)
      return &schedule;
  return nullptr;
}

const Schedule& choose_schedule(int64_t m, int64_t n, int64_t k) {
  const Schedule &large = kSchedules.front(), *best = find_schedule("128x128_s6_g8");
  // Smaller tiles, and parts of K, only where they give work to multiprocessors that had none.
  if (2 * large.tiles(m, n) <= kMultiprocessors) {
    for (const Schedule& schedule : kSchedules)
      if (schedule.splits > best->splits && k >= schedule.splits * kLeastDepth &&
          schedule.tiles(m, n) * schedule.splits <= kMultiprocessors)
        best = &schedule;
    return *best;
  }
  return n <= 128 ? *find_schedule("256x128_s4_g8") : large;
}

const Schedule& choose_mma_schedule(const MmaProduct& product) {
  if (product.family == MatmulFamily::fma)
    return *find_schedule(product.b_transposed ? "fma_128x128_s3" : "fma_128x64_s4");
  if (product.element_bytes == 8)
    return *find_schedule("mma_128x64_s4");
  const Schedule &large = *find_schedule("mma_256x128_s3"), &small = *find_schedule("mma_128x128_s3");
  return product.shared_bytes >= large.ring_bytes() &&
                 2 * large.tiles(product.m, product.n) > kMultiprocessors
             ? large
             : small;
}

} // namespace lemma::nvgpu

namespace lemma {

std::vector<MlirSchedule> matmul_schedules() {
  std::vector<MlirSchedule> named;
  for (const nvgpu::Schedule& schedule : nvgpu::schedules())
    named.push_back({schedule.name, schedule.why});
  return named;
}

} // namespace lemma

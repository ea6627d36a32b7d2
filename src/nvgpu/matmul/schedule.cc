// The table of schedules, and which one is taken.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/schedule.h"

#include <array>

namespace lemma::nvgpu {
namespace {

// Measured on an H200 (docs/matmul.md). Clusters do not pay there: what multicast saves of the L2's bandwidth
// was not what held the kernel up, and an arrival that releases at the scope of the cluster waits for the
// thread's memory.
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
};

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

const Schedule& choose_schedule(int64_t m, int64_t n, int64_t) {
  const auto tiles = [&](const Schedule& schedule) {
    return ((m + schedule.tile_m - 1) / schedule.tile_m) * ((n + schedule.tile_n - 1) / schedule.tile_n);
  };
  const Schedule &large = kSchedules.front(), &small = kSchedules.back();
  // Smaller tiles only where they give work to multiprocessors that had none.
  if (2 * tiles(large) <= kMultiprocessors)
    return small;
  return n <= 128 ? *find_schedule("256x128_s4_g8") : large;
}

} // namespace lemma::nvgpu

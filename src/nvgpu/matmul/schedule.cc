// The table of schedules, and which one is taken.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/schedule.h"

#include "lemma/mlir.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace lemma::nvgpu {
namespace {

// Measured on an H100 (docs/matmul.md). Clusters do not pay there: what multicast saves of the L2's bandwidth
// was not what held the kernel up, and an arrival that releases at the scope of the cluster waits for the
// thread's memory.
//
// tcgen05: not measured; tiles and stages are those of published kernels that fit.
//
// mma and fma, on an H100: bf16 at 8192 the larger tile made 450 TFLOP/s, 128x128 404, 128x256 408; at 4096
// and 2048 they were within 1 percent.
constexpr std::array kSchedules{
    Schedule{.name = "128x256_s4_g16", .group = 16, .why = "the most work for what a stage brings"},
    Schedule{.name = "128x256_s4_g24",
             .group = 24,
             .why = "B, of which fewer columns are at work, comes fewer times"},
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
    Schedule{.name = "tcgen05_128x256_s4",
             .consumers = 1,
             .why = "the widest product of a CTA; its two accumulators take all of tensor memory",
             .family = MatmulFamily::tcgen05},
    Schedule{.name = "tcgen05_128x128_s6",
             .tile_n = 128,
             .consumers = 1,
             .stages = 6,
             .why = "small products: more CTAs at work",
             .family = MatmulFamily::tcgen05},
    Schedule{.name = "tcgen05_128x128_s6_k2",
             .tile_n = 128,
             .consumers = 1,
             .stages = 6,
             .splits = 2,
             .why = "few tiles: parts of K for multiprocessors without work",
             .family = MatmulFamily::tcgen05},
    Schedule{.name = "tcgen05_128x128_s6_k4",
             .tile_n = 128,
             .consumers = 1,
             .stages = 6,
             .splits = 4,
             .why = "fewer tiles",
             .family = MatmulFamily::tcgen05},
    Schedule{.name = "tcgen05_128x128_s6_k8",
             .tile_n = 128,
             .consumers = 1,
             .stages = 6,
             .splits = 8,
             .why = "fewer tiles",
             .family = MatmulFamily::tcgen05},
    Schedule{.name = "tcgen05_128x128_s6_k16",
             .tile_n = 128,
             .consumers = 1,
             .stages = 6,
             .splits = 16,
             .why = "a tile or a few",
             .family = MatmulFamily::tcgen05},
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

static_assert(std::all_of(kSchedules.begin(), kSchedules.end(), [](const Schedule& schedule) {
  return schedule.family != MatmulFamily::wgmma || schedule.turns < schedule.stages;
}));

constexpr const Schedule* find(std::string_view name) {
  for (const Schedule& schedule : kSchedules)
    if (name == schedule.name)
      return &schedule;
  return nullptr;
}

// What `lemma tune` found to be the fastest on an H200 (docs/matmul.md), rows as it prints them: type, order
// as cuBLAS calls it, M, N, K.
struct Tuned {
  std::string_view type, order;
  int64_t m, n, k;
  std::string_view schedule;
};
constexpr Tuned kTuned[] = {
    {"bf16", "NN", 2048, 2048, 2048, "128x128_s6_g8"},  {"bf16", "NN", 4096, 4096, 4096, "128x256_s4_g24"},
    {"bf16", "NN", 8192, 8192, 8192, "128x256_s4_g16"}, {"bf16", "NN", 16384, 16384, 16384, "128x256_s4_g24"},
    {"f16", "NN", 2048, 2048, 2048, "128x128_s6_g8"},   {"f16", "NN", 4096, 4096, 4096, "128x256_s4_g24"},
    {"f16", "NN", 8192, 8192, 8192, "256x128_s4_g8"},   {"f16", "NN", 16384, 16384, 16384, "128x256_s4_g24"},
    {"tf32", "TN", 2048, 2048, 2048, "256x128_s4_g8"},  {"tf32", "TN", 4096, 4096, 4096, "256x128_s4_g8"},
    {"tf32", "TN", 8192, 8192, 8192, "128x256_s4_g24"}, {"tf32", "TN", 16384, 16384, 16384, "128x256_s4_g24"},
    {"e4m3", "TN", 2048, 2048, 2048, "128x128_s6_g8"},  {"e4m3", "TN", 4096, 4096, 4096, "128x256_s4_g24"},
    {"e4m3", "TN", 8192, 8192, 8192, "256x128_s4_g8"},  {"e4m3", "TN", 16384, 16384, 16384, "128x256_s4_g24"},
    {"s8", "TN", 2048, 2048, 2048, "128x128_s6_g8"},    {"s8", "TN", 4096, 4096, 4096, "128x256_s4_g24"},
    {"s8", "TN", 8192, 8192, 8192, "128x256_s4_g24"},   {"s8", "TN", 16384, 16384, 16384, "128x256_s4_g24"},
};
static_assert(std::all_of(std::begin(kTuned), std::end(kTuned),
                          [](const Tuned& row) { return find(row.schedule) != nullptr; }));

// Of rows of the type, those of the order if there are any: the one that is nearest by how much is
// multiplied. Null: there is none of the type.
const Tuned* nearest(const WgmmaProduct& product) {
  const char order[] = {product.b_transposed ? 'T' : 'N', product.a_transposed ? 'T' : 'N'};
  const auto size = [](const auto& of) {
    return std::log(static_cast<double>(of.m)) + std::log(static_cast<double>(of.n)) +
           std::log(static_cast<double>(of.k));
  };
  const auto rank = [&](const Tuned& row) {
    return std::pair(row.order != std::string_view(order, 2), std::abs(size(row) - size(product)));
  };
  const Tuned* best = nullptr;
  for (const Tuned& row : kTuned)
    if (row.type == product.type && (!best || rank(row) < rank(*best)))
      best = &row;
  return best;
}

constexpr int64_t kLeastDepth = 1024; // of a part of K

// Of schedules like `whole`, but with parts of K, the one with the most parts for which there are
// multiprocessors without work.
const Schedule& in_parts(const Schedule& whole, int64_t m, int64_t n, int64_t k, int64_t multiprocessors) {
  const Schedule* best = &whole;
  for (const Schedule& schedule : kSchedules)
    if (schedule.family == whole.family && schedule.splits > best->splits &&
        k >= schedule.splits * kLeastDepth && schedule.tiles(m, n) * schedule.splits <= multiprocessors)
      best = &schedule;
  return *best;
}

} // namespace

std::span<const Schedule> schedules() {
  return kSchedules;
}

const Schedule* find_schedule(std::string_view name) {
  return find(name);
}

const Schedule& choose_schedule(const WgmmaProduct& product) {
  const int64_t m = product.m, n = product.n, k = product.k;
  const Schedule& large = kSchedules.front();
  // Smaller tiles, and parts of K, only where they give work to multiprocessors that had none.
  if (2 * large.tiles(m, n) <= kMultiprocessors)
    return in_parts(*find("128x128_s6_g8"), m, n, k, kMultiprocessors);
  if (n <= 128)
    return *find("256x128_s4_g8");
  const Tuned* row = nearest(product);
  return row ? *find(row->schedule) : large;
}

const Schedule& choose_tcgen05_schedule(const Tcgen05Product& product) {
  const Schedule &large = *find("tcgen05_128x256_s4"), &small = *find("tcgen05_128x128_s6");
  if (2 * large.tiles(product.m, product.n) <= product.multiprocessors)
    return in_parts(small, product.m, product.n, product.k, product.multiprocessors);
  return product.n <= small.tile_n ? small : large;
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

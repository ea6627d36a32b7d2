// Schedules of a matrix product: how its kernel cuts the work, as data. A kernel of any row is right for any
// sizes. Rows differ in speed; rows with as many parts of K add in the same order.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lemma::nvgpu {

// Kernels by the instruction that multiplies: kernel.h is of wgmma, tcgen05_kernel.h of tcgen05, mma_kernel.h
// of the others.
enum class MatmulFamily : uint8_t {
  wgmma,
  tcgen05,
  mma, // mma.sync
  fma, // a fused multiply-add for each product, in f32
};

// Those whose tiles come by tensor copies, on Hopper and on Blackwells with tensor memory.
constexpr bool has_tensor_maps(MatmulFamily family) {
  return family == MatmulFamily::wgmma || family == MatmulFamily::tcgen05;
}

struct Schedule {
  const char* name;
  int64_t tile_m = 128, tile_n = 256;   // of a CTA; its K is a swizzle line: 128 bytes
  int64_t consumers = 2;                // warpgroups that multiply, tile_m / consumers rows each; of tcgen05
                                        // the one that stores
  int64_t stages = 4;                   // tiles of A and B that are on their way or in use
  int64_t cluster_m = 1, cluster_n = 1; // CTAs that share tiles by multicast: B along M, A along N
  int64_t group = 8;                    // rows of clusters that are walked together, column by column
  int64_t splits = 1; // parts of K, each multiplied by itself; their sums are added in order
  // Of a warp's slices of results (store_text.h) so many stay in registers, 16 each, and are stored among the
  // products of its next tile; the others, as many as there are slices of shared memory for them, go there at
  // once.
  int64_t held = 6;
  // Of a tile's stages the consumers multiply so many, the last ones, one after the other: fewer than there
  // are, since a consumer that waits for its turn has not released the one before.
  int64_t turns = 3;
  int64_t producer_registers = 24, consumer_registers = 240;
  const char* why = "";
  // Of mma and fma: warps of a CTA, which have equal parts of the tile. cluster, held, turns and registers
  // are wgmma's alone, consumers and splits its and tcgen05's; group counts rows of tiles.
  MatmulFamily family = MatmulFamily::wgmma;
  int64_t warps_m = 0, warps_n = 0;

  int64_t cluster() const { return cluster_m * cluster_n; }
  int64_t rows_of_consumer() const { return tile_m / consumers; }
  int64_t threads() const {
    switch (family) {
    case MatmulFamily::wgmma:
      return 128 * (consumers + 1);
    case MatmulFamily::tcgen05:
      return 128 + 2 * 32;
    default:
      return 32 * warps_m * warps_n;
    }
  }
  int64_t stage_bytes() const;
  int64_t ring_bytes() const { return stages * stage_bytes(); }
  // Of C that tiles cover.
  int64_t tiles(int64_t m, int64_t n) const {
    return (m + tile_m - 1) / tile_m * ((n + tile_n - 1) / tile_n);
  }
};

// Bytes of a row of a stage's tile: a line of the 128-byte swizzle.
inline constexpr int64_t kLineBytes = 128;
inline int64_t Schedule::stage_bytes() const {
  return (tile_m + tile_n) * kLineBytes;
}
// Of an H200; a grid of more CTAs than fit at a time would be right, too.
inline constexpr int64_t kMultiprocessors = 132;

std::span<const Schedule> schedules();
// Null if there is none.
const Schedule* find_schedule(std::string_view name);
// A product that wgmma multiplies, its type as `lemma tune` calls it: "bf16", "tf32", "s8".
struct WgmmaProduct {
  std::string_view type;
  bool a_transposed = false, b_transposed = false;
  int64_t m = 0, n = 0, k = 0;
};
// The fastest that was measured for such a product.
const Schedule& choose_schedule(const WgmmaProduct& product);

// The same of tcgen05, where nothing was measured.
struct Tcgen05Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t multiprocessors = 0;
};
const Schedule& choose_tcgen05_schedule(const Tcgen05Product& product);

// The same of mma and fma.
struct MmaProduct {
  MatmulFamily family = MatmulFamily::mma;
  int64_t element_bytes = 2, m = 0, n = 0;
  bool b_transposed = false; // B lies as N x K
  int64_t shared_bytes = 0;  // that a CTA may have
};
const Schedule& choose_mma_schedule(const MmaProduct& product);

} // namespace lemma::nvgpu

// Schedules of a matrix product: how its kernel cuts the work, as data. A kernel of any row is right for any
// sizes; rows differ in speed alone.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lemma::nvgpu {

struct Schedule {
  const char* name;
  int64_t tile_m = 128, tile_n = 256;   // of a CTA; its K is a swizzle line: 128 bytes
  int64_t consumers = 2;                // warpgroups that multiply, tile_m / consumers rows each
  int64_t stages = 4;                   // tiles of A and B that are on their way or in use
  int64_t cluster_m = 1, cluster_n = 1; // CTAs that share tiles by multicast: B along M, A along N
  int64_t group = 8;                    // rows of clusters that are walked together, column by column
  int64_t producer_registers = 24, consumer_registers = 240;
  const char* why = "";

  int64_t cluster() const { return cluster_m * cluster_n; }
  int64_t rows_of_consumer() const { return tile_m / consumers; }
  int64_t threads() const { return 128 * (consumers + 1); }
};

// Bytes of a row of a stage's tile: a line of the 128-byte swizzle.
inline constexpr int64_t kLineBytes = 128;
// Of an H200; a grid of more CTAs than fit at a time would be right, too.
inline constexpr int64_t kMultiprocessors = 132;

std::span<const Schedule> schedules();
// Null if there is none.
const Schedule* find_schedule(std::string_view name);
// The fastest that was measured for such sizes.
const Schedule& choose_schedule(int64_t m, int64_t n, int64_t k);

} // namespace lemma::nvgpu

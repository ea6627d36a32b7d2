// Two CTAs want the same tiles of u32, 16 rows of 32: each loads eight rows of a tile and sends them to both.
// Warp 4 copies, warps 0 to 3 add up columns. A stage is free when the readers of both CTAs have read it.
#include "ops.cuh"

constexpr int tile_bytes = 16 * 128, stages = 2;

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160)
    cluster_multicast(const __grid_constant__ TensorMap map, uint32_t* out, int tiles) {
  __shared__ __align__(128) uint32_t tile[stages][16 * 32];
  __shared__ __align__(8) uint64_t full[stages], empty[stages];
  uint32_t rank, t = threadIdx.x, sum = 0;
  CLUSTER_RANK(rank);
  if (t == 0) {
    for (int s = 0; s < stages; ++s) {
      MBAR_INIT(SHARED(&full[s]), 1);  // @init_full
      MBAR_INIT(SHARED(&empty[s]), 8); // @init_empty
    }
    FENCE_MBAR_INIT(); // @fence_init
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  if (t >= 128) {
    uint32_t leader;
    ELECT(leader); // @elect
    if (leader) {
#pragma unroll 1
      for (int i = 0; i < tiles; ++i) {
        int s = i % stages;
        MBAR_WAIT_CLUSTER(SHARED(&empty[s]), (i / stages & 1) ^ 1); // @wait_empty
        MBAR_EXPECT(SHARED(&full[s]), tile_bytes);                  // @expect
        TMA_LOAD_MULTICAST(SHARED(tile[s]) + rank * (tile_bytes / 2), &map, 0, i * 16 + rank * 8,
                           SHARED(&full[s]),
                           (uint16_t)3); // @load
      }
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
      int s = i % stages;
      MBAR_WAIT_CLUSTER(SHARED(&full[s]), i / stages & 1); // @wait_full
      for (int row = t / 32; row < 16; row += 4)
        sum += tile[s][row * 32 + t % 32] * (i + 1); // @read
      FENCE_PROXY();                                 // @fence_read
      __syncwarp();                                  // @sync_read
      if (t % 32 < 2)
        MBAR_ARRIVE_AT(SHARED(&empty[s]), t % 32); // @release
    }
  }
  CLUSTER_ARRIVE(); // @arrive_end
  CLUSTER_WAIT();   // @wait_end
  if (t < 128)
    out[blockIdx.x * 128 + t] = sum;
}

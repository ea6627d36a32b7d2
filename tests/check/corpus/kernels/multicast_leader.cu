// The first of four CTAs copies rows of 64 words to all four, by multicast, into two stages; the others give
// stages back to it, and it leaves when it has got the last ones back.
#include "ops.cuh"

constexpr int ctas = 4;

extern "C" __global__ void __cluster_dims__(ctas, 1, 1) __launch_bounds__(96)
    multicast_leader(const uint32_t* in, uint32_t* out, int rows) {
  __shared__ __align__(128) uint32_t stage[2][64];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  uint32_t rank, t = threadIdx.x, sum = 0;
  CLUSTER_RANK(rank);
  if (t < 2) {
    MBAR_INIT(SHARED(&full[t]), 1);         // @init_full
    MBAR_INIT(SHARED(&empty[t]), 2 * ctas); // @init_empty
    FENCE_MBAR_INIT();                      // @fence_init
    MBAR_EXPECT(SHARED(&full[t]), 256);     // @expect_first
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  if (t == 64 && rank == 0) {
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      if (i >= 2)
        MBAR_WAIT_CLUSTER(SHARED(&empty[s]), (i / 2 - 1) & 1);                            // @wait_empty
      BULK_MULTICAST(SHARED(stage[s]), in + i * 64, 256, SHARED(&full[s]), (uint16_t)15); // @load
    }
    MBAR_WAIT_CLUSTER(SHARED(&empty[rows & 1]), (rows / 2 - 1) & 1);         // @drain
    MBAR_WAIT_CLUSTER(SHARED(&empty[(rows - 1) & 1]), ((rows - 1) / 2) & 1); // @drain_last
  }
  if (t < 64) {
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      MBAR_WAIT_CLUSTER(SHARED(&full[s]), i / 2 & 1); // @wait_full
      sum += stage[s][63 - t] * (i + rank);           // @read
      if (t == 0 && i + 2 < rows)
        MBAR_EXPECT(SHARED(&full[s]), 256); // @expect
      FENCE_PROXY();                        // @fence_read
      __syncwarp();                         // @sync_read
      if (t % 32 == 0)
        MBAR_ARRIVE_AT(SHARED(&empty[s]), 0); // @give
    }
    out[blockIdx.x * 64 + t] = sum;
  }
}

// Two CTAs, a pipeline: the first sends rows of 64 words into two stages of the second with st.async; the
// second adds them up and gives stages back. The first leaves when it has got the last ones back.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    cluster_feed(const uint32_t* in, uint32_t* out, int rows) {
  __shared__ uint32_t stage[2][64];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  uint32_t rank, t = threadIdx.x, there, bar_there, sum = 0;
  CLUSTER_RANK(rank);
  if (t < 2) {
    MBAR_INIT(SHARED(&full[t]), 1);   // @init_full
    MBAR_INIT(SHARED(&empty[t]), 64); // @init_empty
    FENCE_MBAR_INIT();                // @fence_init
    if (rank == 1)
      MBAR_EXPECT(SHARED(&full[t]), 256); // @expect_first
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  if (rank == 0) {
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      uint32_t v = in[i * 64 + t];
      if (i >= 2)
        MBAR_WAIT_CLUSTER(SHARED(&empty[s]), (i / 2 - 1) & 1); // @wait_empty
      MAPA(there, SHARED(&stage[s][63 - t]), 1);
      MAPA(bar_there, SHARED(&full[s]), 1);
      ST_ASYNC(there, v, bar_there); // @send
    }
    MBAR_WAIT_CLUSTER(SHARED(&empty[rows & 1]), (rows / 2 - 1) & 1);         // @drain
    MBAR_WAIT_CLUSTER(SHARED(&empty[(rows - 1) & 1]), ((rows - 1) / 2) & 1); // @drain_last
  } else {
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      MBAR_WAIT_CLUSTER(SHARED(&full[s]), i / 2 & 1); // @wait_full
      sum += stage[s][t] * (i + 1);                   // @read
      FENCE_PROXY();
      if (t == 0 && i + 2 < rows)
        MBAR_EXPECT(SHARED(&full[s]), 256); // @expect
      MBAR_ARRIVE_AT(SHARED(&empty[s]), 0); // @give
    }
    out[t] = sum;
  }
}

// Numbers go round in a cluster of four CTAs of 32 threads: each sends its own to the next with st.async,
// which completes on an mbarrier there, waits for what the one before sends, adds to it, and so on for some
// rounds. Two inboxes in turns: a CTA gets its next round's numbers only after all have sent those of this.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32)
    cluster_ring(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t inbox[2][32];
  __shared__ __align__(8) uint64_t came[2];
  uint32_t rank, t = threadIdx.x, there, bar_there;
  CLUSTER_RANK(rank);
  uint32_t v = in[blockIdx.x * 32 + t];
  if (t == 0) {
    MBAR_INIT(SHARED(&came[0]), 1);     // @init_0
    MBAR_INIT(SHARED(&came[1]), 1);     // @init_1
    FENCE_MBAR_INIT();                  // @fence_init
    MBAR_EXPECT(SHARED(&came[0]), 128); // @expect_0
    MBAR_EXPECT(SHARED(&came[1]), 128); // @expect_1
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    int s = i & 1;
    MAPA(there, SHARED(&inbox[s][31 - t]), (rank + 1) % 4);
    MAPA(bar_there, SHARED(&came[s]), (rank + 1) % 4);
    ST_ASYNC(there, v, bar_there);                  // @send
    MBAR_WAIT_CLUSTER(SHARED(&came[s]), i / 2 & 1); // @wait_came
    v = inbox[s][t] + i;                            // @read
    FENCE_PROXY();
    __syncwarp(); // @sync_read
    if (t == 0 && i + 2 < rounds)
      MBAR_EXPECT(SHARED(&came[s]), 128); // @expect
    CLUSTER_ARRIVE();                     // @arrive_round
    CLUSTER_WAIT();                       // @wait_round
  }
  out[blockIdx.x * 32 + t] = v;
}

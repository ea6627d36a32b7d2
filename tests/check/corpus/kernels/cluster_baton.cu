// A sum runs through a cluster of four CTAs of 32 threads, some rounds: each CTA waits until the one before
// has its words, reads them there, adds its own and tells the next; and tells the one before that it has read
// them. Who has been read by all that will, may leave.
#include "ops.cuh"

constexpr int ctas = 4;

extern "C" __global__ void __cluster_dims__(ctas, 1, 1) __launch_bounds__(32)
    cluster_baton(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t words[32];
  __shared__ __align__(8) uint64_t made, taken;
  uint32_t rank, t = threadIdx.x, there, v = in[blockIdx.x * 32 + threadIdx.x];
  CLUSTER_RANK(rank);
  if (t == 0) {
    MBAR_INIT(SHARED(&made), 1);   // @init_made
    MBAR_INIT(SHARED(&taken), 32); // @init_taken
    FENCE_MBAR_INIT();             // @fence_init
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (rank > 0) {
      MBAR_WAIT_CLUSTER(SHARED(&made), i & 1); // @wait_made
      uint32_t before;
      MAPA(there, SHARED(&words[31 - t]), rank - 1);
      LD_CLUSTER(before, there);                // @fetch
      v += before;                              // @sum
      MBAR_ARRIVE_AT(SHARED(&taken), rank - 1); // @tell_taken
    }
    if (rank < ctas - 1) {
      if (i > 0)
        MBAR_WAIT_CLUSTER(SHARED(&taken), (i - 1) & 1); // @wait_taken
      words[t] = v;                                     // @write
      __syncwarp();                                     // @sync_write
      if (t == 0)
        MBAR_ARRIVE_AT(SHARED(&made), rank + 1); // @tell_made
    }
  }
  if (rank < ctas - 1)
    MBAR_WAIT_CLUSTER(SHARED(&taken), (rounds - 1) & 1); // @wait_last
  out[blockIdx.x * 32 + t] = v;
}

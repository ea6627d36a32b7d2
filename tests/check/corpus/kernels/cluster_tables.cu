// Two CTAs count words in tables of their own, and add each to the totals of both by bulk reductions from
// shared memory to shared memory. A CTA leaves when the other has its table too.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    cluster_tables(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(128) uint32_t counts[64], totals[64];
  __shared__ __align__(8) uint64_t came;
  uint32_t t = threadIdx.x, there, bar_there;
  counts[t] = t; // @clear
  totals[t] = 0; // @clear_totals
  if (t == 0) {
    MBAR_INIT(SHARED(&came), 1);     // @init
    FENCE_MBAR_INIT();               // @fence_init
    MBAR_EXPECT(SHARED(&came), 512); // @expect
  }
  __syncthreads();                                         // @sync_clear
  atomicAdd(&counts[in[blockIdx.x * 64 + t] % 64], t + 1); // @count
  FENCE_PROXY();                                           // @fence
  CLUSTER_ARRIVE();                                        // @arrive_start
  CLUSTER_WAIT();                                          // @wait_start
  if (t == 0) {
#pragma unroll
    for (int rank = 0; rank < 2; ++rank) {
      MAPA(there, SHARED(totals), rank);
      MAPA(bar_there, SHARED(&came), rank);
      BULK_ADD_TO_CLUSTER(there, SHARED(counts), 256, bar_there); // @add
    }
  }
  MBAR_WAIT_CLUSTER(SHARED(&came), 0);      // @wait
  out[blockIdx.x * 64 + t] = totals[t] * 2; // @read
  CLUSTER_ARRIVE();                         // @arrive_end
  CLUSTER_WAIT();                           // @wait_end
}

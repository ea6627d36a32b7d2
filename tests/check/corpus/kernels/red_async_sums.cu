// Two CTAs add up words by a key of 32, in both at once: each thread sends its word to the sum of its key
// there and here, with red.async, which completes on an mbarrier where the sums are. Who waits there has all,
// and may leave.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    red_async_sums(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t sums[32];
  __shared__ __align__(8) uint64_t came;
  uint32_t t = threadIdx.x, there, bar_there, v = in[blockIdx.x * 64 + threadIdx.x];
  if (t < 32)
    sums[t] = t; // @clear
  if (t == 0) {
    MBAR_INIT(SHARED(&came), 1);     // @init
    FENCE_MBAR_INIT();               // @fence_init
    MBAR_EXPECT(SHARED(&came), 512); // @expect
  }
  FENCE_PROXY();    // @fence_clear
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
#pragma unroll
  for (int rank = 0; rank < 2; ++rank) {
    MAPA(there, SHARED(&sums[v % 32]), rank);
    MAPA(bar_there, SHARED(&came), rank);
    RED_ASYNC(there, v + rank, bar_there); // @send
  }
  MBAR_WAIT_CLUSTER(SHARED(&came), 0); // @wait
  if (t < 32)
    out[blockIdx.x * 32 + t] = sums[t]; // @read
}

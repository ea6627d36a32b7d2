// Inclusive scan over a cluster of four CTAs of 32 threads: each scans its own, puts the sum where the CTAs
// behind it read it, and adds the sums of those before it; then a last sum goes back to CTA 0 from the CTA at
// the end.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32)
    cluster_scan(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t sums[4];
  __shared__ uint32_t ends[32];
  uint32_t rank, t = threadIdx.x, there;
  CLUSTER_RANK(rank);
  uint32_t v = in[blockIdx.x * 32 + t];
  for (int d = 1; d < 32; d *= 2) {
    uint32_t w = __shfl_up_sync(0xffffffff, v, d);
    if (t >= d)
      v += w;
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  if (t < 4) {
    uint32_t total = __shfl_sync(0xf, v, 3) + rank * 1000 + t; // @total
    MAPA(there, SHARED(&sums[rank]), t);
    ST_CLUSTER(there, total); // @send
  }
  CLUSTER_ARRIVE(); // @arrive_sums
  CLUSTER_WAIT();   // @wait_sums
  for (int r = 0; r < rank; ++r)
    v += sums[r]; // @add
  MAPA(there, SHARED(&ends[t]), 0);
  if (rank == 3)
    ST_CLUSTER(there, v);                                        // @send_end
  CLUSTER_ARRIVE();                                              // @arrive_end
  CLUSTER_WAIT();                                                // @wait_end
  out[blockIdx.x * 32 + t] = v + (rank == 0 ? ends[31 - t] : 0); // @store
}

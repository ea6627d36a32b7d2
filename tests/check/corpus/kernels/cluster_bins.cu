// A histogram of 64 bins in the shared memory of two CTAs, 32 each: a count goes to where its bin is.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    cluster_bins(const uint32_t* in, uint32_t* out, int n) {
  __shared__ uint32_t bins[32];
  __shared__ uint32_t seen[2];
  uint32_t rank, t = threadIdx.x, there;
  CLUSTER_RANK(rank);
  if (t < 32)
    bins[t] = rank * 7; // @clear
  if (t < 2)
    seen[t] = t;    // @clear_seen
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  for (int i = rank * 64 + t; i < n; i += 128) {
    uint32_t bin = in[i] % 64;
    MAPA(there, SHARED(&bins[bin % 32]), bin / 32);
    RED_CLUSTER(there, 1 + bin % 3); // @count
    atomicAdd(&seen[bin & 1], bin);  // @seen
  }
  CLUSTER_ARRIVE(); // @arrive_end
  CLUSTER_WAIT();   // @wait_end
  if (t < 32)
    out[rank * 32 + t] = bins[t] + seen[t & 1]; // @read
}

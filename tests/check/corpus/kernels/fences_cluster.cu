// CTAs of a cluster hand rows on through global memory: relaxed atomics on a counter of the cluster, with
// fences whose scope is the cluster, which is as wide as it need be. Every cluster has rows and counters of
// its own.
#include "strong.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32)
    fences_cluster(const uint32_t* in, uint32_t* rows, uint32_t* counters, uint32_t* out) {
  uint32_t t = threadIdx.x, rank, cluster = blockIdx.x / 4, seen;
  CLUSTER_RANK(rank);
  uint32_t* row = rows + cluster * 128;
  row[rank * 32 + t] = in[blockIdx.x * 32 + t] + 7; // @write
  __syncwarp();                                     // @sync_written
  if (t == 0) {
    FENCE("acq_rel.cluster");                                 // @fence_write
    RED_ADD("relaxed.cluster.global", counters + cluster, 1); // @arrive
    do
      LD("relaxed.cluster.global", seen, counters + cluster); // @wait
    while (seen != 4);
    FENCE("acq_rel.cluster"); // @fence_read
  }
  __syncwarp();                                                 // @sync_read
  out[blockIdx.x * 32 + t] = row[(rank + 1) % 4 * 32 + 31 - t]; // @read
}

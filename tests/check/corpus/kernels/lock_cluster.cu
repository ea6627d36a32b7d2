// A lock among the CTAs of a cluster, in the shared memory of CTA 0, where what it guards is too: 32 sums.
// The scope is the cluster.
#include "strong.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32)
    lock_cluster(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t lock, sums[32];
  uint32_t t = threadIdx.x, rank, there, that_lock, v, old;
  CLUSTER_RANK(rank);
  sums[t] = 0; // @clear
  if (t == 0)
    lock = 0; // @clear_lock
  MAPA(that_lock, SHARED(&lock), 0);
  MAPA(there, SHARED(&sums[31 - t]), 0);
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0)
      do
        CAS_AT("acquire.cluster.shared::cluster", old, that_lock, 0, 1); // @take
      while (old != 0);
    __syncwarp();         // @sync_taken
    LD_CLUSTER(v, there); // @read
    v += in[(i * gridDim.x + blockIdx.x) * 32 + t];
    ST_CLUSTER(there, v); // @write
    __syncwarp();         // @sync_done
    if (t == 0)
      ST_AT("release.cluster.shared::cluster", that_lock, 0); // @give
  }
  CLUSTER_ARRIVE(); // @arrive_end
  CLUSTER_WAIT();   // @wait_end
  if (rank == 0)
    out[blockIdx.x / 4 * 32 + t] = sums[t]; // @read_all
}

// CTAs of a cluster send to the next one's shared memory and set a flag there, at the scope of the cluster;
// the receiver says in the sender's shared memory that it has read. The barriers of the cluster are at the
// beginning and the end alone.
#include "strong.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(32)
    mailbox_cluster(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t box[32], filled, emptied;
  uint32_t t = threadIdx.x, rank, next_box, next_filled, last_emptied, seen, sum = 0;
  CLUSTER_RANK(rank);
  if (t == 0)
    filled = emptied = 0; // @clear
  MAPA(next_box, SHARED(&box[t]), (rank + 1) % 4);
  MAPA(next_filled, SHARED(&filled), (rank + 1) % 4);
  MAPA(last_emptied, SHARED(&emptied), (rank + 3) % 4);
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0)
      do
        LD_AT("acquire.cluster.shared::cta", seen, SHARED(&emptied)); // @wait_emptied
      while (seen != i);
    __syncwarp();                                            // @sync_emptied
    ST_CLUSTER(next_box, in[blockIdx.x * 32 + t] * 3 + sum); // @write
    __syncwarp();                                            // @sync_write
    if (t == 0) {
      ST_AT("release.cluster.shared::cluster", next_filled, i + 1); // @fill
      do
        LD_AT("acquire.cluster.shared::cta", seen, SHARED(&filled)); // @wait_filled
      while (seen != i + 1);
    }
    __syncwarp();       // @sync_filled
    sum += box[31 - t]; // @read
    __syncwarp();       // @sync_read
    if (t == 0)
      ST_AT("release.cluster.shared::cluster", last_emptied, i + 1); // @empty
  }
  out[blockIdx.x * 32 + t] = sum;
  CLUSTER_ARRIVE(); // @arrive_end
  CLUSTER_WAIT();   // @wait_end
}

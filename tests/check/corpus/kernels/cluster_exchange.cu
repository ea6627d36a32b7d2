// A cluster of two CTAs of 32 threads: each writes its numbers into the other's shared memory, reads what it
// got, then reads what the other has made of it.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32)
    cluster_exchange(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t inbox[32];
  __shared__ uint32_t made[32];
  uint32_t rank, t = threadIdx.x, there, got;
  CLUSTER_RANK(rank);
  uint32_t v = in[blockIdx.x * 32 + t];
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  MAPA(there, SHARED(&inbox[31 - t]), rank ^ 1);
  ST_CLUSTER(there, v);          // @send
  CLUSTER_ARRIVE();              // @arrive_sent
  CLUSTER_WAIT();                // @wait_sent
  made[t] = inbox[t] * 2 + rank; // @make
  CLUSTER_ARRIVE();              // @arrive_made
  CLUSTER_WAIT();                // @wait_made
  MAPA(there, SHARED(&made[t ^ 1]), rank ^ 1);
  LD_CLUSTER(got, there); // @fetch
  CLUSTER_ARRIVE();       // @arrive_end
  out[blockIdx.x * 32 + t] = got;
  CLUSTER_WAIT(); // @wait_end
}

// The sum over a cluster of four CTAs of 64 threads: each sums its part in shared memory, then CTA 0 reads
// the sums of all, and the others read the total from it.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
    cluster_reduce(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t parts[64];
  __shared__ uint32_t sum;
  __shared__ uint32_t total;
  uint32_t rank, t = threadIdx.x, there, got;
  CLUSTER_RANK(rank);
  parts[t] = in[blockIdx.x * 64 + t]; // @part
  __syncthreads();                    // @sync_parts
  if (t < 32) {
    uint32_t v = parts[t] + parts[t + 32]; // @read_parts
    v = __reduce_add_sync(0xffffffff, v);  // @reduce
    if (t == 0)
      sum = v + rank; // @sum
  }
  CLUSTER_ARRIVE(); // @arrive_sums
  CLUSTER_WAIT();   // @wait_sums
  if (rank == 0 && t < 4) {
    MAPA(there, SHARED(&sum), t);
    LD_CLUSTER(got, there);              // @fetch_sum
    got += __shfl_xor_sync(0xf, got, 1); // @exchange_1
    got += __shfl_xor_sync(0xf, got, 2); // @exchange_2
    if (t == 0)
      total = got; // @total
  }
  CLUSTER_ARRIVE(); // @arrive_total
  CLUSTER_WAIT();   // @wait_total
  MAPA(there, SHARED(&total), 0);
  LD_CLUSTER(got, there);                        // @fetch_total
  out[blockIdx.x * 64 + t] = got + parts[t ^ 1]; // @store
  CLUSTER_ARRIVE();                              // @arrive_end
  CLUSTER_WAIT();                                // @wait_end
}

// Each CTA counts words in shared memory, for some rounds in two tables in turns, and adds the table to the
// totals with bulk reductions. The CTA that ends last reads the totals.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64)
    bulk_votes(const uint32_t* in, uint32_t* totals, uint32_t* ticket, uint32_t* out, int rounds) {
  __shared__ __align__(128) uint32_t counts[2][64];
  __shared__ bool last;
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    int s = i & 1;
    if (t == 0)
      BULK_WAIT_READ(1);                                                   // @wait_read
    __syncthreads();                                                       // @sync_free
    counts[s][t] = 1;                                                      // @clear
    __syncthreads();                                                       // @sync_clear
    atomicAdd(&counts[s][in[(blockIdx.x * rounds + i) * 64 + t] % 64], t); // @count
    FENCE_PROXY();                                                         // @fence
    __syncthreads();                                                       // @sync_count
    if (t == 0) {
      BULK_ADD(totals, SHARED(counts[s]), 256); // @add
      BULK_COMMIT();                            // @commit
    }
  }
  if (t == 0) {
    BULK_WAIT(0);                                 // @wait
    __threadfence();                              // @fence_added
    last = atomicAdd(ticket, 1) == gridDim.x - 1; // @ticket
    __threadfence();                              // @fence_last
  }
  __syncthreads(); // @sync_last
  if (last)
    out[t] = totals[t]; // @read
}

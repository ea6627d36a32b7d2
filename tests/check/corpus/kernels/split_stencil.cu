// A stencil in shared memory, steps split by an mbarrier: threads arrive when their cell is written, work on
// something of their own, and wait before they read their neighbours. In the end the mbarrier's place holds
// the sum.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64) split_stencil(const uint32_t* in, uint32_t* out, int steps) {
  __shared__ uint32_t cells[2][64];
  __shared__ __align__(8) uint64_t place;
  __shared__ uint32_t after[2];
  int t = threadIdx.x;
  if (t == 0)
    MBAR_INIT(SHARED(&place), 64); // @init
  __syncthreads();                 // @sync_init
  uint32_t v = in[t], own = t;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    cells[i & 1][t] = v;                                              // @write
    MBAR_ARRIVE(SHARED(&place));                                      // @arrive
    own = own * 5 + i;                                                // @own
    MBAR_WAIT(SHARED(&place), i & 1);                                 // @wait
    v = cells[i & 1][(t + 1) % 64] * 3 + cells[i & 1][(t + 63) % 64]; // @read
  }
  __syncthreads(); // @sync_end
  if (t == 0)
    MBAR_INVAL(SHARED(&place)); // @inval
  __syncthreads();              // @sync_inval
  uint32_t* sum = (uint32_t*)&place;
  if (t < 2) {
    sum[t] = v;     // @reuse
    after[t] = own; // @after
  }
  __syncthreads();                              // @sync_sum
  out[t] = v + own + sum[t & 1] + after[t & 1]; // @store
}

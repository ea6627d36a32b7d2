// Two warps make, two take, with named barriers for two buffers: 1 and 2 say full, 3 and 4 empty. 128
// threads; out has 64 words a round.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128)
    makers_takers(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t buffer[2][64];
  __shared__ uint32_t totals[2];
  int t = threadIdx.x;
  if (t < 64) {
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      int b = i & 1;
      BAR_SYNC(3 + b, 128);              // @wait_empty
      buffer[b][t] = in[i * 64 + t] + i; // @write
      __threadfence_block();
      BAR_ARRIVE(1 + b, 128); // @arrive_full
    }
    BAR_SYNC(5, 64); // @sync_makers
    if (t == 0)
      totals[0] = rounds * 2; // @total_0
  } else {
    BAR_ARRIVE(3, 128); // @free_0
    BAR_ARRIVE(4, 128); // @free_1
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      int b = i & 1;
      BAR_SYNC(1 + b, 128);                      // @wait_full
      out[i * 64 + t - 64] = buffer[b][127 - t]; // @read
      if (i + 2 < rounds)
        BAR_ARRIVE(3 + b, 128); // @arrive_empty
    }
    BAR_SYNC(6, 64); // @sync_takers
    if (t == 64)
      totals[1] = rounds * 3; // @total_1
  }
  __syncthreads(); // @sync_end
  if (t < 2)
    out[rounds * 64 + t] = totals[t ^ 1]; // @read_totals
}

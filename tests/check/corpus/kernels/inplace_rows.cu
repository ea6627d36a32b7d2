// Sums of neighbours, in place: each word becomes itself and the one before. A CTA hands its last word to the
// next through a buffer and a flag, before it changes it.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64) inplace_rows(uint32_t* x, uint32_t* edges, uint32_t* flags) {
  int t = threadIdx.x, b = blockIdx.x;
  uint32_t v = __ldg(x + b * 64 + t), left = 0, flag; // @read
  if (t == 63) {
    edges[b] = v;             // @edge
    ST_RELEASE(flags + b, 1); // @publish
  }
  if (t > 0)
    left = x[b * 64 + t - 1]; // @read_left
  else if (b > 0) {
    do {
      LD_ACQUIRE(flag, flags + b - 1); // @poll
    } while (flag == 0);
    left = edges[b - 1]; // @read_edge
  }
  __syncthreads();          // @sync
  x[b * 64 + t] = v + left; // @write
}

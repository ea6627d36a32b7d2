// Passes over 128 words of each CTA, in place: each word is added to its mirror, times a weight that only
// this kernel's caller writes.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128)
    inplace_passes(uint32_t* x, const uint32_t* __restrict__ weights, int passes) {
  int t = threadIdx.x;
  x += blockIdx.x * 128;
#pragma unroll 1
  for (int i = 0; i < passes; ++i) {
    uint32_t own = x[t];                            // @read_own
    uint32_t other = x[127 - t];                    // @read_other
    uint32_t weight = __ldg(weights + i * 128 + t); // @weight
    __syncthreads();                                // @sync_read
    x[t] = own + other * weight;                    // @write
    __syncthreads();                                // @sync_write
  }
}

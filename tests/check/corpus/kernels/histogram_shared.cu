// Counts bytes into 16 bins: each CTA in shared memory with atomics, then added to the global bins. 64
// threads a CTA.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64)
    histogram_shared(const uint32_t* in, uint32_t* bins, uint32_t* most, int n) {
  __shared__ uint32_t scale[4];
  __shared__ uint32_t local[16];
  int t = threadIdx.x;
  if (t < 16)
    local[t] = 0; // @clear
  if (t < 4)
    scale[t] = t + 1;
  __syncthreads(); // @sync_clear
  for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64)
    atomicAdd(&local[in[i] % 16], scale[in[i] % 4]); // @count
  __syncthreads();                                   // @sync_count
  if (t < 16) {
    uint32_t v = local[t];             // @read
    atomicAdd(&bins[t], v);            // @merge
    atomicMax(most, v + scale[t % 4]); // @most
  }
}

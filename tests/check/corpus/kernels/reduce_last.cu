// The sum of n numbers: each thread sums a stretch, the CTA reduces in shared memory down to a warp, the warp
// with shuffles; the CTA that ends last sums the partial sums of all. 64 threads a CTA; n need not be a
// multiple of anything.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64)
    reduce_last(const uint32_t* in, uint32_t* partial, uint32_t* tickets, uint32_t* out, int n) {
  __shared__ uint32_t sums[64];
  __shared__ bool last;
  int t = threadIdx.x;
  uint32_t sum = 0;
  for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64)
    sum += in[i];
  sums[t] = sum;   // @write
  __syncthreads(); // @sync
  if (t < 32) {
    sum += sums[t + 32]; // @read
    for (int d = 16; d > 0; d /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, d); // @shuffle
    if (t == 0) {
      partial[blockIdx.x] = sum;                     // @partial
      __threadfence();                               // @fence
      last = atomicAdd(tickets, 1) == gridDim.x - 1; // @ticket
      __threadfence();                               // @fence_last
    }
  }
  __syncthreads(); // @sync_last
  if (last) {      // @read_last
    uint32_t all = 0;
    for (int i = t; i < gridDim.x; i += 64)
      all += partial[i]; // @read_partial
    sums[t] = all;       // @write_all
    __syncthreads();     // @sync_all
    for (int d = 32; d > 0; d /= 2) {
      if (t < d)
        sums[t] += sums[t + d]; // @tree
      __syncthreads();          // @sync_tree
    }
    if (t == 0)
      *out = sums[0]; // @out
  }
}

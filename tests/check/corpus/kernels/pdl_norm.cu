// A row a CTA of what the kernel before has made, minus its mean: one warp waits for that kernel and loads,
// through shared memory it goes to both.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64) pdl_norm(const float* in, float* out, float* means) {
  __shared__ float row[64];
  __shared__ float total;
  int t = threadIdx.x;
  if (t == 0)
    total = 0;     // @clear
  __syncthreads(); // @sync_clear
  if (t < 32) {
    GRID_WAIT();                                // @wait
    row[t] = in[blockIdx.x * 64 + t];           // @read_low
    row[t + 32] = in[blockIdx.x * 64 + t + 32]; // @read_high
  }
  __syncthreads(); // @sync_row
  float v = row[t];
  float w = v;
  for (int d = 16; d > 0; d /= 2)
    w += __shfl_xor_sync(0xffffffff, w, d); // @shuffle
  if (t % 32 == 0)
    atomicAdd(&total, w);              // @add
  __syncthreads();                     // @sync_total
  float mean = total / 64;             // @mean
  out[blockIdx.x * 64 + t] = v - mean; // @store
  if (t == 0)
    means[blockIdx.x] = mean; // @store_mean
}

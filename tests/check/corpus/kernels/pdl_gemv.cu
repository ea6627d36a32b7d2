// y = M x, a row a warp: the weights M are there from the beginning and are loaded before the wait for the
// kernel that makes x.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64) pdl_gemv(const float* m, const float* x, float* y) {
  int t = threadIdx.x, lane = t % 32, row = blockIdx.x * 2 + t / 32;
  float a = m[row * 64 + lane], b = m[row * 64 + lane + 32]; // @weights
  GRID_WAIT();                                               // @wait
  float u = x[lane];                                         // @read_low
  float v = x[lane + 32];                                    // @read_high
  float sum = a * u + b * v;
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, d); // @shuffle
  GRID_LAUNCH();                                // @launch
  if (lane == 0)
    y[row] = sum; // @store
}

// compile_programs: -arch=compute_80
// D = A * B with mma.sync: A is MxK and B KxN in f16, D in f32, all row-major. A CTA of two warps makes 32x16
// of D; cp.async fills a ring of three stages of 16 along K, two stages ahead. Grid M/32, N/16.
#include "ops.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(64)
    gemm_pipeline(const half* a, const half* b, const float* bias, float* d, int n, int k) {
  __shared__ __align__(128) half as[3][32][24];
  __shared__ __align__(128) half bs[3][16][24];
  __shared__ float added[16];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  int row = blockIdx.x * 32, column = blockIdx.y * 16, steps = k / 16;
  auto load = [&](int stage, int step) {
    const half* from = a + (row + t / 2) * k + step * 16 + t % 2 * 8;
    CP_ASYNC_16(SHARED(&as[stage][t / 2][t % 2 * 8]), from); // @load_a
    if (t < 32) {
      const half* from_b = b + (step * 16 + t / 2) * n + column + t % 2 * 8;
      CP_ASYNC_16(SHARED(&bs[stage][t / 2][t % 2 * 8]), from_b); // @load_b
    }
  };
  if (t < 16)
    added[t] = bias[column + t]; // @bias_write
  load(0, 0);
  CP_ASYNC_COMMIT(); // @commit_0
  load(1, 1);
  CP_ASYNC_COMMIT(); // @commit_1
  float acc[2][4] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    int stage = step % 3;
    CP_ASYNC_WAIT(1); // @wait
    __syncthreads();  // @sync
    if (step + 2 < steps)
      load((step + 2) % 3, step + 2);
    CP_ASYNC_COMMIT(); // @commit
    uint32_t fa[4], fb[2];
    LDMATRIX_4(fa, SHARED(&as[stage][warp * 16 + lane % 16][lane / 16 * 8])); // @ldmatrix_a
    for (int j = 0; j < 2; ++j) {
      LDMATRIX_2_T(fb, SHARED(&bs[stage][lane % 16][j * 8])); // @ldmatrix_b
      MMA_16816(acc[j], fa, fb);                              // @mma
    }
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i) {
      int y = row + warp * 16 + i / 2 * 8 + lane / 4, x = j * 8 + lane % 4 * 2 + i % 2;
      d[y * n + column + x] = acc[j][i] + added[x]; // @store
    }
}

// compile_programs: -arch=compute_80
// Attention of 32 queries a CTA over n keys in blocks of 16, heads of 16: two warps, mma.sync, K and V come
// by cp.async into two buffers. Not scaled, and no maximum taken out: the inputs are small.
#include "ops.cuh"
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(64)
    attention_cpasync(const half* q, const half* k, const half* v, float* out, int n) {
  __shared__ __align__(128) half qs[32][24];
  __shared__ __align__(128) half ks[2][16][24];
  __shared__ __align__(128) half vs[2][16][24];
  __shared__ float sums[32];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, blocks = n / 16;
  auto load = [&](int stage, int block) {
    int row = t % 32 / 2, x = t % 2 * 8;
    if (t < 32)
      CP_ASYNC_16(SHARED(&ks[stage][row][x]), k + (block * 16 + row) * 16 + x); // @load_k
    else
      CP_ASYNC_16(SHARED(&vs[stage][row][x]), v + (block * 16 + row) * 16 + x); // @load_v
  };
  CP_ASYNC_16(SHARED(&qs[t / 2][t % 2 * 8]), q + (blockIdx.x * 32 + t / 2) * 16 + t % 2 * 8); // @load_q
  load(0, 0);
  CP_ASYNC_COMMIT(); // @commit_first
  float acc[2][4] = {};
  float sum[2] = {};
  uint32_t fq[4];
#pragma unroll 1
  for (int b = 0; b < blocks; ++b) {
    int s = b & 1;
    if (b + 1 < blocks)
      load(s ^ 1, b + 1);
    CP_ASYNC_COMMIT(); // @commit
    CP_ASYNC_WAIT(1);  // @wait
    __syncthreads();   // @sync_loaded
    if (b == 0)
      LDMATRIX_4(fq, SHARED(&qs[warp * 16 + lane % 16][lane / 16 * 8])); // @ldmatrix_q
    uint32_t fk[4], fv[2], fp[4];
    LDMATRIX_4(fk, SHARED(&ks[s][lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8])); // @ldmatrix_k
    float scores[2][4] = {};
    MMA_16816(scores[0], fq, fk);       // @mma_s0
    MMA_16816(scores[1], fq, (fk + 2)); // @mma_s1
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) {
        float x = __expf(scores[j][i * 2]), y = __expf(scores[j][i * 2 + 1]);
        sum[i] += x + y;
        half2 h = __floats2half2_rn(x, y);
        fp[j * 2 + i] = *(uint32_t*)&h;
      }
    for (int j = 0; j < 2; ++j) {
      LDMATRIX_2_T(fv, SHARED(&vs[s][lane % 16][j * 8])); // @ldmatrix_v
      MMA_16816(acc[j], fp, fv);                          // @mma_o
    }
    __syncthreads(); // @sync_read
  }
  for (int i = 0; i < 2; ++i) {
    sum[i] += __shfl_xor_sync(0xffffffff, sum[i], 1); // @exchange_1
    sum[i] += __shfl_xor_sync(0xffffffff, sum[i], 2); // @exchange_2
    if (lane % 4 == 0)
      sums[warp * 16 + i * 8 + lane / 4] = sum[i]; // @sum
  }
  __syncwarp(); // @sync_sums
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i) {
      int y = warp * 16 + i / 2 * 8 + lane / 4, x = j * 8 + lane % 4 * 2 + i % 2;
      out[(blockIdx.x * 32 + y) * 16 + x] = acc[j][i] / sums[y]; // @store
    }
}

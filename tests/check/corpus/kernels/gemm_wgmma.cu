// D = A * B^T, one warpgroup that copies and multiplies in turns: A is (64 x grid)xK, B 16xK in f16 with K
// contiguous, D in f32. Two stages, thread 0 keeps one copy in flight. A comes in registers for the second
// half of each tile: ldmatrix from the swizzled tile. a box 64x64, b box 64x16, both with 128B swizzle.
#include "ops.cuh"

constexpr int a_bytes = 64 * 128, b_bytes = 16 * 128;

extern "C" __global__ void __launch_bounds__(128)
    gemm_wgmma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d,
               int k_tiles) {
  __shared__ __align__(1024) uint8_t as[2][a_bytes];
  __shared__ __align__(1024) uint8_t bs[2][b_bytes];
  __shared__ __align__(8) uint64_t full[2];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, row = blockIdx.x * 64;
  if (t == 0) {
    MBAR_INIT(SHARED(&full[0]), 1); // @init_0
    MBAR_INIT(SHARED(&full[1]), 1); // @init_1
    FENCE_MBAR_INIT();              // @fence_init
  }
  __syncthreads(); // @sync_init
  if (t == 0) {
    MBAR_EXPECT(SHARED(&full[0]), a_bytes + b_bytes);      // @expect_first
    TMA_LOAD(SHARED(as[0]), &a, 0, row, SHARED(&full[0])); // @load_a_first
    TMA_LOAD(SHARED(bs[0]), &b, 0, 0, SHARED(&full[0]));   // @load_b_first
  }
  float acc[8] = {};
#pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    int s = k & 1;
    if (t == 0 && k + 1 < k_tiles) {
      MBAR_EXPECT(SHARED(&full[s ^ 1]), a_bytes + b_bytes);                     // @expect
      TMA_LOAD(SHARED(as[s ^ 1]), &a, (k + 1) * 64, row, SHARED(&full[s ^ 1])); // @load_a
      TMA_LOAD(SHARED(bs[s ^ 1]), &b, (k + 1) * 64, 0, SHARED(&full[s ^ 1]));   // @load_b
    }
    MBAR_WAIT(SHARED(&full[s]), k / 2 & 1); // @wait_full
    uint64_t da = descriptor(SHARED(as[s])), db = descriptor(SHARED(bs[s]));
    uint32_t fa[2][4];
    for (int i = 0; i < 2; ++i) {
      int r = warp * 16 + lane % 16, piece = (4 + i * 2 + lane / 16) ^ r % 8;
      LDMATRIX_4(fa[i], SHARED(as[s]) + r * 128 + piece * 16); // @ldmatrix
    }
    WGMMA_FENCE();                        // @wgmma_fence
    WGMMA_64_16(acc, da, db);             // @product_0
    WGMMA_64_16(acc, da + 2, db + 2);     // @product_1
    WGMMA_64_16_R(acc, fa[0], db + 4, 0); // @product_2
    WGMMA_64_16_R(acc, fa[1], db + 6, 0); // @product_3
    WGMMA_COMMIT();                       // @wgmma_commit
    WGMMA_WAIT(0);                        // @wgmma_wait
    FENCE_PROXY();                        // @fence_reads
    __syncthreads();                      // @sync_loop
  }
  for (int i = 0; i < 8; ++i) {
    int y = row + warp * 16 + i / 2 % 2 * 8 + lane / 4, x = i / 4 * 8 + lane % 4 * 2 + i % 2;
    d[y * 16 + x] = acc[i]; // @store
  }
}

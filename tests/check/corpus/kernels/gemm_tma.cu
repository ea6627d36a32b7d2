// D = A * B^T on Hopper: A is 64xK, B 16xK in f16 with K contiguous, D 64x16 in f32. Warpgroup 0 copies with
// TMA into a ring of two stages of 64 along K, warpgroup 1 multiplies with wgmma and stores with TMA. One
// CTA; a box 64x64, b box 64x16, both with 128B swizzle, d box 16x64 without.
#include "ops.cuh"

constexpr int a_bytes = 64 * 128, b_bytes = 16 * 128, stages = 2;

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_tma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
             const __grid_constant__ TensorMap d, int k_tiles) {
  extern __shared__ __align__(1024) uint8_t shared[];
  uint32_t base = SHARED(shared), as = base, bs = base + stages * a_bytes, result = bs + stages * b_bytes;
  uint32_t full = result + 64 * 16 * 4, empty = full + 8 * stages;
  int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < stages; ++s) {
      MBAR_INIT(full + 8 * s, 1);  // @init_full
      MBAR_INIT(empty + 8 * s, 4); // @init_empty
    }
    FENCE_MBAR_INIT(); // @fence_init
  }
  __syncthreads(); // @sync_init
  if (t < 128) {
    REGISTERS_GIVE(40); // @give
    if (t < 32) {
      uint32_t leader;
      ELECT(leader); // @elect
      if (leader) {
#pragma unroll 1
        for (int k = 0; k < k_tiles; ++k) {
          int s = k % stages;
          MBAR_WAIT(empty + 8 * s, (k / stages & 1) ^ 1);          // @wait_empty
          MBAR_EXPECT(full + 8 * s, a_bytes + b_bytes);            // @expect
          TMA_LOAD(as + s * a_bytes, &a, k * 64, 0, full + 8 * s); // @load_a
          TMA_LOAD(bs + s * b_bytes, &b, k * 64, 0, full + 8 * s); // @load_b
        }
      }
    }
  } else {
    REGISTERS_TAKE(232); // @take
    float acc[8] = {};
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k) {
      int s = k % stages;
      MBAR_WAIT(full + 8 * s, k / stages & 1); // @wait_full
      uint64_t da = descriptor(as + s * a_bytes), db = descriptor(bs + s * b_bytes);
      WGMMA_FENCE();                    // @wgmma_fence
      WGMMA_64_16(acc, da, db);         // @product_0
      WGMMA_64_16(acc, da + 2, db + 2); // @product_1
      WGMMA_64_16(acc, da + 4, db + 4); // @product_2
      WGMMA_64_16(acc, da + 6, db + 6); // @product_3
      WGMMA_COMMIT();                   // @wgmma_commit
      WGMMA_WAIT(0);                    // @wgmma_wait
      if (t % 32 == 0)
        MBAR_ARRIVE(empty + 8 * s); // @release
    }
    int warp = t % 128 / 32, lane = t % 32;
    for (int i = 0; i < 8; ++i) {
      int y = warp * 16 + i / 2 % 2 * 8 + lane / 4, x = i / 4 * 8 + lane % 4 * 2 + i % 2;
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(result + (y * 16 + x) * 4), "f"(acc[i])
                   : "memory"); // @stage
    }
    FENCE_PROXY();    // @fence_store
    BAR_SYNC(1, 128); // @sync_store
    if (t == 128) {
      TMA_STORE(&d, 0, 0, result); // @store
      BULK_COMMIT();               // @commit_store
      BULK_WAIT_READ(0);           // @wait_store
    }
  }
}

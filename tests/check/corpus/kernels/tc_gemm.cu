// compile_programs: -arch=compute_100a
// D = A * B^T, a warp that copies, one that multiplies, four that store: A is (128 x tiles)xK, B 32xK in f16
// with K contiguous, D in f32. Two stages; D in tensor memory, one accumulator, which is read before the next
// tile begins. a box 64x128, b box 64x32, both with 128B swizzle.
#include "tensor.cuh"

constexpr uint32_t a_bytes = 128 * 128, b_bytes = 32 * 128;

extern "C" __global__ void __launch_bounds__(192)
    tc_gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d, int tiles,
            int k_tiles) {
  extern __shared__ __align__(1024) uint8_t stages[];
  __shared__ __align__(8) uint64_t full[2], empty[2], ready, drained;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  if (t == 0) {
    for (int s = 0; s < 2; ++s) {
      MBAR_INIT(SHARED(&full[s]), 1);
      MBAR_INIT(SHARED(&empty[s]), 1);
    }
    MBAR_INIT(SHARED(&ready), 1);
    MBAR_INIT(SHARED(&drained), 128); // @init_drained
    FENCE_MBAR_INIT();
  }
  if (warp == 1) {
    TC_ALLOC(SHARED(&slot), 32); // @alloc
    TC_RELINQUISH();             // @relinquish
  }
  TC_BEFORE();
  __syncthreads(); // @sync_start
  TC_AFTER();
  uint32_t acc = *(volatile uint32_t*)&slot; // @slot
  if (t == 0) {
#pragma unroll 1
    for (int i = 0; i < tiles * k_tiles; ++i) {
      int s = i & 1, k = i % k_tiles;
      uint32_t to = SHARED(stages) + s * (a_bytes + b_bytes);
      MBAR_WAIT(SHARED(&empty[s]), (i / 2 & 1) ^ 1);                 // @wait_empty
      MBAR_EXPECT(SHARED(&full[s]), a_bytes + b_bytes);              // @expect
      TMA_LOAD(to, &a, k * 64, i / k_tiles * 128, SHARED(&full[s])); // @load_a
      TMA_LOAD(to + a_bytes, &b, k * 64, 0, SHARED(&full[s]));       // @load_b
    }
  } else if (t == 32) {
#pragma unroll 1
    for (int tile = 0, i = 0; tile < tiles; ++tile) {
      MBAR_WAIT(SHARED(&drained), (tile & 1) ^ 1); // @wait_drained
      TC_AFTER();                                  // @after_drained
#pragma unroll 1
      for (int k = 0; k < k_tiles; ++k, ++i) {
        int s = i & 1;
        uint32_t from = SHARED(stages) + s * (a_bytes + b_bytes);
        uint64_t da = tensor_descriptor(from), db = tensor_descriptor(from + a_bytes); // @descriptors
        MBAR_WAIT(SHARED(&full[s]), i / 2 & 1);                                        // @wait_full
        TC_MMA(acc, da, db, product_shape(128, 32), k != 0);                           // @mma_0
        TC_MMA(acc, da + 2, db + 2, product_shape(128, 32), 1);                        // @mma_1
        TC_MMA(acc, da + 4, db + 4, product_shape(128, 32), 1);                        // @mma_2
        TC_MMA(acc, da + 6, db + 6, product_shape(128, 32), 1);                        // @mma_3
        TC_COMMIT(SHARED(&empty[s]));                                                  // @release
      }
      TC_COMMIT(SHARED(&ready)); // @commit
    }
  } else if (warp >= 2) {
    uint32_t own = acc + (warp % 4 << 21); // @own
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      MBAR_WAIT(SHARED(&ready), tile & 1); // @wait_ready
      TC_AFTER();                          // @after_ready
      float* row = d + (tile * 128 + warp % 4 * 32 + lane) * 32;
#pragma unroll 1
      for (int c = 0; c < 32; c += 8) {
        uint32_t r[8];
        TC_LD8(r, own + c); // @ld
        TC_WAIT_LD();       // @wait_ld
        for (int j = 0; j < 8; ++j)
          row[c + j] = __uint_as_float(r[j]); // @store
      }
      TC_BEFORE();                   // @before_drained
      MBAR_ARRIVE(SHARED(&drained)); // @drain
    }
  }
  __syncwarp();
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 1)
    TC_DEALLOC(acc, 32); // @dealloc
}

// compile_programs: -arch=compute_100a
// D = A * B^T by a pair of CTAs: each brings its 128 rows of A and its 16 of B by tensor copies that tell the
// even CTA's mbarrier, whose thread multiplies for both; each stores its rows of D, which have all 32
// columns. A is 256xK, B 32xK in f16 with K contiguous, D in f32. a box 64x128, b box 64x16, both with 128B
// swizzle.
#include "tensor.cuh"

constexpr uint32_t a_bytes = 128 * 128, b_bytes = 16 * 128;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(160)
    tc_pair(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d, int k_tiles) {
  __shared__ __align__(1024) uint8_t as[a_bytes], bs[b_bytes];
  __shared__ __align__(8) uint64_t full, empty, ready;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  uint32_t rank;
  CLUSTER_RANK(rank);
  if (t == 0) {
    MBAR_INIT(SHARED(&full), 1); // @init_full
    MBAR_INIT(SHARED(&empty), 1);
    MBAR_INIT(SHARED(&ready), 1);
    FENCE_MBAR_INIT(); // @fence_init
  }
  if (warp == 4) {
    TC2_ALLOC(SHARED(&slot), 32); // @alloc
    TC2_RELINQUISH();             // @relinquish
  }
  TC_BEFORE();
  __syncthreads();
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  TC_AFTER();
  uint32_t acc = *(volatile uint32_t*)&slot;
  if (t == 128) {
#pragma unroll 1
    for (int k = 0; k < k_tiles; ++k) {
      MBAR_WAIT(SHARED(&empty), (k & 1) ^ 1); // @wait_empty
      uint32_t told = SHARED(&full) & 0xfeffffff;
      if (rank == 0)
        MBAR_EXPECT(SHARED(&full), 2 * (a_bytes + b_bytes));  // @expect
      TC2_TMA_LOAD(SHARED(as), &a, k * 64, rank * 128, told); // @load_a
      TC2_TMA_LOAD(SHARED(bs), &b, k * 64, rank * 16, told);  // @load_b
      if (rank == 0) {
        uint64_t da = tensor_descriptor(SHARED(as)), db = tensor_descriptor(SHARED(bs));
        MBAR_WAIT_CLUSTER(SHARED(&full), k & 1);                 // @wait_full
        TC2_MMA(acc, da, db, product_shape(256, 32), k != 0);    // @mma_0
        TC2_MMA(acc, da + 2, db + 2, product_shape(256, 32), 1); // @mma_1
        TC2_MMA(acc, da + 4, db + 4, product_shape(256, 32), 1); // @mma_2
        TC2_MMA(acc, da + 6, db + 6, product_shape(256, 32), 1); // @mma_3
        TC2_COMMIT(SHARED(&empty), 3);                           // @release
      }
    }
    if (rank == 0)
      TC2_COMMIT(SHARED(&ready), 3); // @commit
  } else if (warp < 4) {
    MBAR_WAIT_CLUSTER(SHARED(&ready), 0); // @wait_ready
    TC_AFTER();                           // @after_ready
#pragma unroll 1
    for (int c = 0; c < 32; c += 8) {
      uint32_t r[8];
      TC_LD8(r, acc + (warp << 21) + c); // @ld
      TC_WAIT_LD();                      // @wait_ld
      for (int j = 0; j < 8; ++j)
        d[(rank * 128 + t) * 32 + c + j] = __uint_as_float(r[j]);
    }
  }
  __syncwarp();
  TC_BEFORE();
  __syncthreads();
  CLUSTER_ARRIVE(); // @arrive_end
  CLUSTER_WAIT();   // @wait_end
  if (warp == 4)
    TC2_DEALLOC(acc, 32); // @dealloc
}

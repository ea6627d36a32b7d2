// compile_programs: -arch=compute_100a
// Products with one A and several B, D in two accumulators that take turns: while four warps store one, the
// fifth fills the other. A is 128x16, each B 16x16 in f16, all in shared memory from the beginning.
#include "tensor.cuh"

constexpr int most = 4;

extern "C" __global__ void __launch_bounds__(160)
    tc_turns(const uint32_t* a, const uint32_t* b, float* d, int products) {
  __shared__ __align__(128) uint32_t as[128 * 8], bs[most][16 * 8];
  __shared__ __align__(8) uint64_t ready[2], drained[2];
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  if (t < 128) {
    int row = t / 8;
    for (int j = 0; j < 8; ++j)
      as[(t / 8 * 2 + j / 4) * 32 + t % 8 * 4 + j % 4] = a[t * 8 + j]; // @fill_a
    for (int i = 0; i < products; ++i)
      bs[i][(row / 8 * 2 + t % 8 / 4) * 32 + row % 8 * 4 + t % 4] = b[(i * 16 + row) * 8 + t % 8]; // @fill_b
  } else if (t == 128) {
    for (int i = 0; i < 2; ++i) {
      MBAR_INIT(SHARED(&ready[i]), 1);
      MBAR_INIT(SHARED(&drained[i]), 128); // @init_drained
    }
    FENCE_MBAR_INIT();
  }
  if (warp == 4) {
    TC_ALLOC(SHARED(&slot), 32); // @alloc
    TC_RELINQUISH();
  }
  FENCE_PROXY(); // @fence_proxy
  TC_BEFORE();
  __syncthreads(); // @sync_start
  TC_AFTER();
  uint32_t base = *(volatile uint32_t*)&slot;
  if (t == 128) {
#pragma unroll 1
    for (int i = 0; i < products; ++i) {
      MBAR_WAIT(SHARED(&drained[i & 1]), (i / 2 & 1) ^ 1); // @wait_drained
      TC_AFTER();                                          // @after_drained
      uint32_t acc = base + (i & 1) * 16;                  // @turn_mma
      TC_MMA(acc, plain_descriptor(SHARED(as)), plain_descriptor(SHARED(bs[i])), product_shape(128, 16),
             0);                        // @mma
      TC_COMMIT(SHARED(&ready[i & 1])); // @commit
    }
  } else if (warp < 4) {
#pragma unroll 1
    for (int i = 0; i < products; ++i) {
      MBAR_WAIT(SHARED(&ready[i & 1]), i / 2 & 1);                // @wait_ready
      TC_AFTER();                                                 // @after_ready
      uint32_t own = base + (i & 1) * 16 + (warp << 21), r[2][8]; // @turn_ld
      TC_LD8(r[0], own);                                          // @ld_0
      TC_LD8(r[1], own + 8);                                      // @ld_1
      TC_WAIT_LD();                                               // @wait_ld
      TC_BEFORE();                                                // @before_drained
      MBAR_ARRIVE(SHARED(&drained[i & 1]));                       // @drain
      for (int j = 0; j < 16; ++j)
        d[(i * 128 + t) * 16 + j] = __uint_as_float(r[j / 8][j % 8]);
    }
  }
  __syncwarp();
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 4)
    TC_DEALLOC(base, 32); // @dealloc
}

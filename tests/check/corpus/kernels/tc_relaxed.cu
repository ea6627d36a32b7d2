// compile_programs: -arch=compute_100a
// D = C + A * B^T, handed from warps to the one that multiplies, and back, by arrivals and waits that are
// relaxed: fences of tcgen05 alone order what is done to tensor memory. A is 128x16, B 16x16 in f16, several
// rounds with another C each.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(160)
    tc_relaxed(const uint32_t* a, const uint32_t* b, const float* c, float* d, int rounds) {
  __shared__ __align__(128) uint32_t as[128 * 8], bs[16 * 8];
  __shared__ __align__(8) uint64_t stored, done;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  if (t < 128) {
    for (int j = 0; j < 8; ++j)
      as[(t / 8 * 2 + j / 4) * 32 + t % 8 * 4 + j % 4] = a[t * 8 + j]; // @fill_a
    int row = t / 8;
    bs[(row / 8 * 2 + t % 8 / 4) * 32 + row % 8 * 4 + t % 4] = b[row * 8 + t % 8]; // @fill_b
  } else if (t == 128) {
    MBAR_INIT(SHARED(&stored), 128); // @init_stored
    MBAR_INIT(SHARED(&done), 1);
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
  uint32_t acc = *(volatile uint32_t*)&slot;
  if (t == 128) {
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      MBAR_WAIT_RELAXED(SHARED(&stored), i & 1); // @wait_stored
      TC_AFTER();                                // @after_stored
      TC_MMA(acc, plain_descriptor(SHARED(as)), plain_descriptor(SHARED(bs)), product_shape(128, 16),
             1);                // @mma
      TC_COMMIT(SHARED(&done)); // @commit
    }
  } else if (warp < 4) {
    uint32_t own = acc + (warp << 21), r[8];
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
#pragma unroll 1
      for (int n = 0; n < 16; n += 8) {
        for (int j = 0; j < 8; ++j)
          r[j] = __float_as_uint(c[(i * 128 + t) * 16 + n + j]);
        TC_ST8(own + n, r); // @st
      }
      TC_WAIT_ST();                            // @wait_st
      TC_BEFORE();                             // @before_stored
      MBAR_ARRIVE_RELAXED(SHARED(&stored));    // @arrive
      MBAR_WAIT_RELAXED(SHARED(&done), i & 1); // @wait_done
      TC_AFTER();                              // @after_done
#pragma unroll 1
      for (int n = 0; n < 16; n += 8) {
        TC_LD8(r, own + n); // @ld
        TC_WAIT_LD();       // @wait_ld
        for (int j = 0; j < 8; ++j)
          d[(i * 128 + t) * 16 + n + j] = __uint_as_float(r[j]);
      }
    }
  }
  __syncwarp();
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 4)
    TC_DEALLOC(acc, 32); // @dealloc
}

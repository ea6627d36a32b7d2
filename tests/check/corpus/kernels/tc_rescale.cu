// compile_programs: -arch=compute_100a
// A sum of products that is halved after each: 128 threads take D from tensor memory, halve it and put it
// back, as the correction of an online softmax does, and thread 0 adds the next product. A is 128xK, B 16xK
// in f16, 16 of K at a time from shared memory. D begins as C.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(128)
    tc_rescale(const uint32_t* a, const uint32_t* b, const float* c, float* d, int k_tiles) {
  __shared__ __align__(128) uint32_t as[128 * 8], bs[16 * 8];
  __shared__ __align__(8) uint64_t done;
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  if (t == 0) {
    MBAR_INIT(SHARED(&done), 1);
    FENCE_MBAR_INIT();
  }
  if (warp == 0) {
    TC_ALLOC(SHARED(&slot), 32); // @alloc
    TC_RELINQUISH();
  }
  TC_BEFORE();
  __syncthreads(); // @sync_start
  TC_AFTER();
  uint32_t acc = *(volatile uint32_t*)&slot, own = acc + (warp << 21);
  uint32_t r[8];
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 8; ++j)
      r[j] = __float_as_uint(c[t * 16 + i + j]);
    TC_ST8(own + i, r); // @st_first
  }
  TC_WAIT_ST(); // @wait_first
#pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    for (int j = 0; j < 8; ++j)
      as[(t / 8 * 2 + j / 4) * 32 + t % 8 * 4 + j % 4] = a[(t * k_tiles + k) * 8 + j]; // @fill_a
    int row = t / 8;
    bs[(row / 8 * 2 + t % 8 / 4) * 32 + row % 8 * 4 + t % 4] = b[(row * k_tiles + k) * 8 + t % 8]; // @fill_b
    FENCE_PROXY();   // @fence_proxy
    TC_BEFORE();     // @before_mma
    __syncthreads(); // @sync_mma
    if (t == 0) {
      TC_AFTER(); // @after_mma
      TC_MMA(acc, plain_descriptor(SHARED(as)), plain_descriptor(SHARED(bs)), product_shape(128, 16),
             1);                // @mma
      TC_COMMIT(SHARED(&done)); // @commit
    }
    MBAR_WAIT(SHARED(&done), k & 1); // @wait_done
    TC_AFTER();                      // @after_done
#pragma unroll 1
    for (int i = 0; i < 16; i += 8) {
      TC_LD8(r, own + i); // @ld
      TC_WAIT_LD();       // @wait_ld
      for (int j = 0; j < 8; ++j)
        r[j] = __float_as_uint(__uint_as_float(r[j]) * 0.5f);
      TC_ST8(own + i, r); // @st
    }
    TC_WAIT_ST(); // @wait_st
  }
  for (int i = 0; i < 16; i += 8) {
    TC_LD8(r, own + i); // @ld_last
    TC_WAIT_LD();       // @wait_last
    for (int j = 0; j < 8; ++j)
      d[t * 16 + i + j] = __uint_as_float(r[j]);
  }
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 0)
    TC_DEALLOC(acc, 32); // @dealloc
}

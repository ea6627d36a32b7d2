// compile_programs: -arch=compute_100a
// D = f(A) * B^T, A in tensor memory: 128 threads bring a row of A each, 16 of K at a time, double it and put
// it into tensor memory, and thread 0 multiplies; A is 128xK, B 16xK in f16. Two buffers of A, which take
// turns: one is written when the product before the last is done.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(128)
    tc_operand(const uint32_t* a, const uint32_t* b, float* d, int k_tiles) {
  __shared__ __align__(128) uint32_t bs[2][16 * 8];
  __shared__ __align__(8) uint64_t done[2];
  __shared__ uint32_t slot;
  int t = threadIdx.x, warp = t / 32;
  if (t == 0) {
    MBAR_INIT(SHARED(&done[0]), 1);
    MBAR_INIT(SHARED(&done[1]), 1);
    FENCE_MBAR_INIT();
  }
  if (warp == 0) {
    TC_ALLOC(SHARED(&slot), 64); // @alloc
    TC_RELINQUISH();
  }
  TC_BEFORE();
  __syncthreads(); // @sync_start
  TC_AFTER();
  uint32_t acc = *(volatile uint32_t*)&slot, own = warp << 21;
#pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    int s = k & 1;
    uint32_t buffer = acc + 16 + s * 8;
    if (k >= 2) {
      MBAR_WAIT(SHARED(&done[s]), (k / 2 & 1) ^ 1); // @wait_buffer
      TC_AFTER();                                   // @after_buffer
    }
    uint32_t r[8];
    for (int j = 0; j < 8; ++j)
      r[j] = a[(t * k_tiles + k) * 8 + j] + 0x04000400; // @load_a
    TC_ST8(buffer + own, r);                            // @st
    TC_WAIT_ST();                                       // @wait_st
    for (int j = t; j < 16 * 8; j += 128) {
      int row = j / 8, chunk = j % 8 / 4;
      bs[s][(row / 8 * 2 + chunk) * 32 + row % 8 * 4 + j % 4] = b[(row * k_tiles + k) * 8 + j % 8]; // @fill_b
    }
    FENCE_PROXY();   // @fence_proxy
    TC_BEFORE();     // @before_mma
    __syncthreads(); // @sync_mma
    if (t == 0) {
      TC_AFTER();                                                                             // @after_mma
      TC_MMA_T(acc, buffer, plain_descriptor(SHARED(bs[s])), product_shape(128, 16), k != 0); // @mma
      TC_COMMIT(SHARED(&done[s]));                                                            // @commit
    }
  }
  int last = k_tiles - 1;
  MBAR_WAIT(SHARED(&done[last & 1]), last / 2 & 1); // @wait_last
  TC_AFTER();                                       // @after_last
  for (int c = 0; c < 16; c += 8) {
    uint32_t r[8];
    TC_LD8(r, acc + own + c); // @ld
    TC_WAIT_LD();             // @wait_ld
    for (int j = 0; j < 8; ++j)
      d[t * 16 + c + j] = __uint_as_float(r[j]);
  }
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 0)
    TC_DEALLOC(acc, 64); // @dealloc
}

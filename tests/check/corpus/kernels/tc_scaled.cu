// compile_programs: -arch=compute_100a
// D = A * B^T of e4m3 with a scale factor for each row and 32 of K: 128 threads bring a tile of 32 of K and
// its scale factors to shared memory, thread 0 copies the factors to tensor memory and multiplies. A is
// 128xK, B 16xK, sa and sb have four bytes a row of each tile, of which the first counts.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(128)
    tc_scaled(const uint32_t* a, const uint32_t* sa, const uint32_t* b, const uint32_t* sb, float* d,
              int k_tiles) {
  __shared__ __align__(128) uint32_t as[128 * 8], bs[16 * 8], scales_a[128], scales_b[128];
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
  uint32_t acc = *(volatile uint32_t*)&slot;
#pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    for (int j = 0; j < 8; ++j)
      as[(t / 8 * 2 + j / 4) * 32 + t % 8 * 4 + j % 4] = a[(t * k_tiles + k) * 8 + j]; // @fill_a
    int row = t / 8;
    bs[(row / 8 * 2 + t % 8 / 4) * 32 + row % 8 * 4 + t % 4] = b[(row * k_tiles + k) * 8 + t % 8]; // @fill_b
    scales_a[t % 32 * 4 + t / 32] = sa[t * k_tiles + k];                                           // @fill_sa
    scales_b[t % 32 * 4 + t / 32] = t < 16 ? sb[t * k_tiles + k] : 0x7f7f7f7f;                     // @fill_sb
    FENCE_PROXY(); // @fence_proxy
    TC_BEFORE();
    __syncthreads(); // @sync_mma
    if (t == 0) {
      TC_AFTER();
      TC_CP_SCALES(acc + 16, scales_descriptor(SHARED(scales_a))); // @cp_a
      TC_CP_SCALES(acc + 20, scales_descriptor(SHARED(scales_b))); // @cp_b
      TC_MMA_SCALED(acc, plain_descriptor(SHARED(as)), plain_descriptor(SHARED(bs)), scaled_shape(128, 16),
                    acc + 16, acc + 20, k != 0); // @mma
      TC_COMMIT(SHARED(&done));                  // @commit
    }
    MBAR_WAIT(SHARED(&done), k & 1); // @wait_done
    TC_AFTER();                      // @after_done
  }
  for (int c = 0; c < 16; c += 8) {
    uint32_t r[8];
    TC_LD8(r, acc + (warp << 21) + c); // @ld
    TC_WAIT_LD();                      // @wait_ld
    for (int j = 0; j < 8; ++j)
      d[t * 16 + c + j] = __uint_as_float(r[j]);
  }
  TC_BEFORE();
  __syncthreads(); // @sync_end
  if (warp == 0)
    TC_DEALLOC(acc, 32); // @dealloc
}

// Transposes 32x32 tiles of u32, one after the other: TMA brings a tile, 128 threads transpose it into a
// second buffer, TMA stores that. Both boxes are 32x32. Warp 0's elected thread copies.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128)
    transpose_tma(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out, int tiles) {
  __shared__ __align__(128) uint32_t from[32][32];
  __shared__ __align__(128) uint32_t to[32][32];
  __shared__ __align__(8) uint64_t full;
  int t = threadIdx.x;
  if (t == 0) {
    MBAR_INIT(SHARED(&full), 1); // @init
    FENCE_MBAR_INIT();           // @fence_init
  }
  __syncthreads(); // @sync_init
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    if (t < 32) {
      uint32_t leader;
      ELECT(leader); // @elect_load
      if (leader) {
        MBAR_EXPECT(SHARED(&full), 4096);                                    // @expect
        TMA_LOAD(SHARED(from), &in, i * 32, blockIdx.x * 32, SHARED(&full)); // @load
        BULK_WAIT_READ(0);                                                   // @wait_read
      }
    }
    __syncthreads();                 // @sync_free
    MBAR_WAIT(SHARED(&full), i & 1); // @wait_full
    for (int j = t; j < 1024; j += 128)
      to[j % 32][j / 32] = from[j / 32][j % 32]; // @transpose
    FENCE_PROXY();                               // @fence
    __syncthreads();                             // @sync_to
    if (t < 32) {
      uint32_t leader;
      ELECT(leader); // @elect_store
      if (leader) {
        TMA_STORE(&out, blockIdx.x * 32, i * 32, SHARED(to)); // @store
        BULK_COMMIT();                                        // @commit
      }
    }
  }
  if (t < 32) {
    uint32_t leader;
    ELECT(leader); // @elect_end
    if (leader)
      BULK_WAIT(0); // @wait_end
  }
}

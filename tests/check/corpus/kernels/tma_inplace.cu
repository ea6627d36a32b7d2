// Tiles of 8 rows of 32 u32 come by TMA into three stages, are changed where they lie, and go by TMA from
// there; then the stage gets the next tile but one. One CTA of 64 threads, thread 0 copies.
#include "ops.cuh"

constexpr int stages = 3, words = 8 * 32;

extern "C" __global__ void __launch_bounds__(64)
    tma_inplace(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, int tiles) {
  __shared__ __align__(128) uint32_t stage[stages][words];
  __shared__ __align__(8) uint64_t full[stages];
  int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < stages; ++s)
      MBAR_INIT(SHARED(&full[s]), 1); // @init
    FENCE_MBAR_INIT();                // @fence_init
    for (int i = 0; i < 2; ++i) {
      MBAR_EXPECT(SHARED(&full[i]), words * 4);                      // @expect_first
      TMA_LOAD(SHARED(stage[i]), &from, 0, i * 8, SHARED(&full[i])); // @load_first
    }
  }
  __syncthreads(); // @sync_init
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    int s = i % stages;
    MBAR_WAIT(SHARED(&full[s]), i / stages & 1); // @wait_full
    for (int k = 0; k < 2; ++k) {
      int j = t + k * 64;
      uint32_t a = stage[s][j], b = stage[s][words - 1 - j]; // @read_a @read_b
      stage[s][j] = b + 1;                                   // @write_a
      stage[s][words - 1 - j] = a * 3;                       // @write_b
    }
    FENCE_PROXY();   // @fence
    __syncthreads(); // @sync
    if (t == 0) {
      TMA_STORE(&to, 0, i * 8, SHARED(stage[s])); // @store
      BULK_COMMIT();                              // @commit
      if (i + 2 < tiles) {
        int next = (i + 2) % stages;
        BULK_WAIT_READ(1);                                                         // @wait_read
        MBAR_EXPECT(SHARED(&full[next]), words * 4);                               // @expect
        TMA_LOAD(SHARED(stage[next]), &from, 0, (i + 2) * 8, SHARED(&full[next])); // @load
      }
    }
  }
  if (t == 0)
    BULK_WAIT_READ(0); // @wait_end
}

// Doubles a vector of u32: bulk copies bring chunks of 512 bytes into a ring of two stages, 128 threads
// double them into a staging buffer, a bulk copy stores that. A second warpgroup copies. Each CTA has
// `chunks` chunks of its own.
#include "ops.cuh"

constexpr int words = 128, bytes = words * 4;

extern "C" __global__ void __launch_bounds__(256, 1)
    ring_bulk(const uint32_t* in, uint32_t* out, int chunks) {
  __shared__ __align__(128) uint32_t stage[2][words];
  __shared__ __align__(128) uint32_t result[2][words];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  int t = threadIdx.x;
  in += blockIdx.x * chunks * words;
  out += blockIdx.x * chunks * words;
  if (t == 0) {
    MBAR_INIT(SHARED(&full[0]), 1);    // @init_full_0
    MBAR_INIT(SHARED(&full[1]), 1);    // @init_full_1
    MBAR_INIT(SHARED(&empty[0]), 128); // @init_empty_0
    MBAR_INIT(SHARED(&empty[1]), 128); // @init_empty_1
    FENCE_MBAR_INIT();                 // @fence_init
  }
  __syncthreads(); // @sync_init
  if (t >= 128) {
    REGISTERS_GIVE(40); // @give
    if (t == 128) {
#pragma unroll 1
      for (int i = 0; i < chunks; ++i) {
        int s = i & 1;
        MBAR_WAIT(SHARED(&empty[s]), (i / 2 & 1) ^ 1);                        // @wait_empty
        MBAR_EXPECT(SHARED(&full[s]), bytes);                                 // @expect
        BULK_LOAD(SHARED(stage[s]), in + i * words, bytes, SHARED(&full[s])); // @load
      }
    }
  } else {
    REGISTERS_TAKE(200); // @take
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      int s = i & 1;
      MBAR_WAIT(SHARED(&full[s]), i / 2 & 1); // @wait_full
      uint32_t v = stage[s][t];               // @read
      FENCE_PROXY();                          // @fence_read
      MBAR_ARRIVE(SHARED(&empty[s]));         // @release
      if (t == 0)
        BULK_WAIT_READ(1);  // @wait_read
      BAR_SYNC(1, 128);     // @sync_free
      result[s][t] = v * 2; // @write
      FENCE_PROXY();        // @fence_write
      BAR_SYNC(1, 128);     // @sync_written
      if (t == 0) {
        BULK_STORE(out + i * words, SHARED(result[s]), bytes); // @store
        BULK_COMMIT();                                         // @commit
      }
    }
    if (t == 0)
      BULK_WAIT_READ(0); // @wait_end
  }
}

// A grid that may begin before the one before it has ended: weights, which were there from the beginning,
// come early; then thread 0 waits, and copies what the other grid has made. Each word is multiplied by its
// weight, and by a factor that the other grid has left.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64)
    pdl_bulk(const uint32_t* weights, const uint32_t* made, uint32_t* out) {
  __shared__ __align__(128) uint32_t early[64], late[64];
  __shared__ __align__(8) uint64_t came[2];
  int t = threadIdx.x;
  if (t == 0) {
    MBAR_INIT(SHARED(&came[0]), 1);                                             // @init_0
    MBAR_INIT(SHARED(&came[1]), 1);                                             // @init_1
    FENCE_MBAR_INIT();                                                          // @fence_init
    MBAR_EXPECT(SHARED(&came[0]), 256);                                         // @expect_0
    BULK_LOAD(SHARED(early), weights + blockIdx.x * 64, 256, SHARED(&came[0])); // @load_early
    GRID_WAIT();                                                                // @wait
    MBAR_EXPECT(SHARED(&came[1]), 256);                                         // @expect_1
    BULK_LOAD(SHARED(late), made + blockIdx.x * 64, 256, SHARED(&came[1]));     // @load_late
  }
  __syncthreads();                               // @sync_init
  GRID_LAUNCH();                                 // @launch
  MBAR_WAIT(SHARED(&came[0]), 0);                // @wait_early
  MBAR_WAIT(SHARED(&came[1]), 0);                // @wait_late
  uint32_t factor = made[blockIdx.x * 64 + 5];   // @factor
  uint32_t v = early[t] * late[63 - t] * factor; // @read
  out[blockIdx.x * 64 + t] = v;                  // @store
}

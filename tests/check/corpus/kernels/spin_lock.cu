// CTAs take turns with a lock: atomicCAS takes it, atomicExch gives it back, with fences inside. What it
// guards: a list of entries, a row of 32 words each, and their number.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(32)
    spin_lock(uint32_t* lock, uint32_t* count, uint32_t* rows, uint32_t* log) {
  __shared__ uint32_t place;
  int t = threadIdx.x;
  if (t == 0)
    place = 0;
  __syncwarp();
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      while (atomicCAS(lock, 0, 1) != 0) // @take
        ;
      __threadfence();    // @fence_take
      place = *count;     // @read_count
      *count = place + 1; // @write_count
    }
    __syncwarp();                                           // @sync_taken
    uint32_t at = place;                                    // @place
    uint32_t before = at > 0 ? rows[(at - 1) * 32 + t] : 7; // @read_row
    rows[at * 32 + t] = before * 2 + t + blockIdx.x;        // @write_row
    __syncwarp();                                           // @sync_done
    if (t == 0) {
      __threadfence();     // @fence_give
      atomicExch(lock, 0); // @give
      log[at] = at * 3 + 1;
    }
    __syncwarp(); // @sync_again
  }
}

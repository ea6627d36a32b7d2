// Lamport's bakery: who comes takes a number above all that he sees, and waits for those who are choosing and
// for those with a lower number. No atomics, but a fence.sc after saying that one chooses, and one after
// that. In the first round the CTAs come one after another.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    lock_bakery(uint32_t* choosing, uint32_t* numbers, uint32_t* gone, uint32_t* row, int rounds) {
  uint32_t t = threadIdx.x, me = blockIdx.x, all = gridDim.x, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      do
        LD("relaxed.gpu.global", seen, gone);
      while (seen < (i == 0 ? me : all));
      ST("relaxed.gpu.global", choosing + me, 1); // @choose
      FENCE("sc.gpu");                            // @fence_choose
      uint32_t mine = 0;
#pragma unroll 1
      for (uint32_t j = 0; j < all; ++j) {
        LD("relaxed.gpu.global", seen, numbers + j); // @numbers
        mine = max(mine, seen);
      }
      ++mine;
      ST("release.gpu.global", numbers + me, mine); // @draw
      ST("release.gpu.global", choosing + me, 0);   // @chosen
      FENCE("sc.gpu");                              // @fence_chosen
#pragma unroll 1
      for (uint32_t j = 0; j < all; ++j) {
        do
          LD("acquire.gpu.global", seen, choosing + j); // @wait_choosing
        while (seen != 0);
        do
          LD("acquire.gpu.global", seen, numbers + j); // @wait_number
        while (seen != 0 && (seen < mine || (seen == mine && j < me)));
      }
    }
    __syncwarp();             // @sync_taken
    uint32_t v = row[31 - t]; // @read
    __syncwarp();             // @sync_read
    row[t] = v + t * 3 + me;  // @write
    __syncwarp();             // @sync_done
    if (t == 0) {
      ST("release.gpu.global", numbers + me, 0); // @give
      if (i == 0)
        RED_ADD("relaxed.gpu.global", gone, 1);
    }
  }
}

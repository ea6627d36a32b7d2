// Dekker's lock between two CTAs: both say that they want it, and of two that do the one whose turn it is not
// takes that back. A fence.sc is between saying so and looking at the other. In the first round CTA 1 comes
// when CTA 0 has gone, in the second CTA 0 keeps the lock till CTA 1 has met it.
#include "strong.cuh"

#define UNTIL(n)                                                                                             \
  do                                                                                                         \
    LD("relaxed.gpu.global", seen, step);                                                                    \
  while (seen < n)

extern "C" __global__ void __launch_bounds__(32)
    lock_dekker(uint32_t* wants, uint32_t* turn, uint32_t* step, uint32_t* row, int rounds) {
  uint32_t t = threadIdx.x, me = blockIdx.x, other = 1 - me, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      if (i < 2)
        UNTIL(2 * i + me);
      ST("relaxed.gpu.global", wants + me, 1); // @want
      FENCE("sc.gpu");                         // @fence
#pragma unroll 1
      for (;;) {
        LD("acquire.gpu.global", seen, wants + other); // @look
        if (seen == 0)
          break;
        if (i == 1)
          RED_ADD("relaxed.gpu.global", step, 1);
        LD("relaxed.gpu.global", seen, turn); // @look_turn
        if (seen != me) {
          ST("relaxed.gpu.global", wants + me, 0); // @want_not
          do
            LD("relaxed.gpu.global", seen, turn); // @wait
          while (seen != me);
          ST("relaxed.gpu.global", wants + me, 1); // @want_again
          FENCE("sc.gpu");                         // @fence_again
        }
      }
      if (i == 1 && me == 0) {
        RED_ADD("relaxed.gpu.global", step, 1);
        UNTIL(4);
      }
    }
    __syncwarp();             // @sync_taken
    uint32_t v = row[31 - t]; // @read
    __syncwarp();             // @sync_read
    row[t] = v + t * 3 + me;  // @write
    __syncwarp();             // @sync_done
    if (t == 0) {
      ST("relaxed.gpu.global", turn, other);   // @yield
      ST("release.gpu.global", wants + me, 0); // @give
      if (i == 0)
        RED_ADD("relaxed.gpu.global", step, 1);
    }
  }
}

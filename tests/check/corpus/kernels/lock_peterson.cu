// Peterson's lock between two CTAs: who comes wants it, leaves the turn to the other, and waits while the
// other wants it and has the turn. That takes a fence.sc between a CTA's own writes and its look at the
// other's. In the first round CTA 1 comes when CTA 0 has gone.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    lock_peterson(uint32_t* wants, uint32_t* turn, uint32_t* gone, uint32_t* row, int rounds) {
  uint32_t t = threadIdx.x, me = blockIdx.x, other = 1 - me, wanted, whose, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      do
        LD("relaxed.gpu.global", seen, gone);
      while (seen < (i == 0 ? me : 2));
      ST("relaxed.gpu.global", wants + me, 1); // @want
      ST("release.gpu.global", turn, other);   // @yield
      FENCE("sc.gpu");                         // @fence
      do {
        LD("acquire.gpu.global", wanted, wants + other); // @look
        LD("acquire.gpu.global", whose, turn);           // @look_turn
      } while (wanted != 0 && whose == other);
    }
    __syncwarp();             // @sync_taken
    uint32_t v = row[31 - t]; // @read
    __syncwarp();             // @sync_read
    row[t] = v + t * 3 + me;  // @write
    __syncwarp();             // @sync_done
    if (t == 0) {
      ST("release.gpu.global", wants + me, 0); // @give
      if (i == 0)
        RED_ADD("relaxed.gpu.global", gone, 1);
    }
  }
}

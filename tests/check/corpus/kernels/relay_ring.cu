// CTAs in a ring hand 64 words on, four in one store, for some rounds: each waits for its left neighbour's
// flag, which counts the rounds, adds its own, and hands on. There is one box a CTA; who fills it knows that
// it was read, since its words have come round.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    relay_ring(uint4* boxes, uint32_t* flags, uint4* out, int rounds) {
  uint32_t t = threadIdx.x, me = blockIdx.x, left = (me + gridDim.x - 1) % gridDim.x, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint4 v = {t, t + 100, t + 200, 1};
    if (me > 0 || i > 0) {
      if (t == 0)
        do
          LD("acquire.gpu.global", seen, flags + left); // @wait
        while (seen != i + (me > 0));
      __syncwarp(); // @sync_wait
      if (t < 16)
        v = boxes[left * 16 + t]; // @read
    }
    v.x += me + 1;
    v.y += v.x;
    v.w *= 3;
    __syncwarp(); // @sync_read
    if (t < 16)
      boxes[me * 16 + t] = v; // @write
    __syncwarp();             // @sync_write
    if (t == 0)
      ST("release.gpu.global", flags + me, i + 1); // @pass
  }
  if (me == gridDim.x - 1 && t < 16)
    out[t] = boxes[me * 16 + t]; // @result
}

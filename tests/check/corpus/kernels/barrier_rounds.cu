// A barrier over the grid without a counter: in round r each CTA tells the one 2^r further on that it is
// there, and waits till it is told; after the last round it knows of all. Between: steps over rows of cells,
// two buffers.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32) barrier_rounds(uint32_t* cells, uint32_t* flags, int steps) {
  uint32_t t = threadIdx.x, cta = blockIdx.x, all = gridDim.x, seen;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    uint32_t *from = cells + step % 2 * all * 32, *to = cells + (step + 1) % 2 * all * 32;
    to[cta * 32 + t] = from[(cta + all / 2) % all * 32 + (31 - t)] * 3 + t; // @cells
    __syncwarp();                                                           // @sync_arrive
    if (t == 0)
#pragma unroll 1
      for (uint32_t r = 0, far = 1; far < all; ++r, far *= 2) {
        ST("release.gpu.global", flags + r * all + (cta + far) % all, step + 1); // @tell
        do
          LD("acquire.gpu.global", seen, flags + r * all + cta); // @wait
        while (seen < step + 1);
      }
    __syncwarp(); // @sync_go
  }
}

// A barrier over the grid whose word needs no reset, as cooperative groups have it: CTA 0 adds so much more
// than the others that bit 31 flips when all have come. Between: rounds over rows of cells, two buffers.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64) barrier_flip(uint32_t* cells, uint32_t* word, int rounds) {
  uint32_t t = threadIdx.x, cta = blockIdx.x, all = gridDim.x, old, seen;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    uint32_t *from = cells + round % 2 * all * 64, *to = cells + (round + 1) % 2 * all * 64;
    to[cta * 64 + t] = from[(cta + 1) % all * 64 + (t ^ 33)] * 3 + t; // @cells
    __syncthreads();                                                  // @sync_arrive
    if (t == 0) {
      ATOM_ADD("release.gpu.global", old, word, cta == 0 ? 0x80000000u - (all - 1) : 1); // @arrive
      do
        LD("acquire.gpu.global", seen, word); // @wait
      while (((old ^ seen) & 0x80000000u) == 0);
    }
    __syncthreads(); // @sync_go
  }
}

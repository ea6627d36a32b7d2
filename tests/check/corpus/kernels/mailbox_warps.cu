// Warps of a CTA in a line, each with a box in shared memory that the next one empties: flags in shared
// memory of scope .cta, no barrier. Warp 0 starts, the last one stores.
#include "strong.cuh"

#define UNTIL(p, n)                                                                                          \
  do                                                                                                         \
    LD_AT("acquire.cta.shared::cta", seen, SHARED(p));                                                       \
  while (seen != n)

extern "C" __global__ void __launch_bounds__(128)
    mailbox_warps(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t boxes[4][32], filled[4], emptied[4];
  uint32_t t = threadIdx.x, lane = t % 32, warp = t / 32, seen;
  if (t < 4)
    filled[t] = emptied[t] = 0; // @clear
  __syncthreads();              // @sync_clear
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t v = in[i * 32 + lane];
    if (warp > 0) {
      if (lane == 0)
        UNTIL(&filled[warp - 1], i + 1);      // @wait_filled
      __syncwarp();                           // @sync_filled
      v = v * 3 + boxes[warp - 1][31 - lane]; // @read
      __syncwarp();                           // @sync_read
      if (lane == 0)
        ST_AT("release.cta.shared::cta", SHARED(&emptied[warp - 1]), i + 1); // @empty
    }
    if (warp == 3) {
      out[(blockIdx.x * rounds + i) * 32 + lane] = v;
      continue;
    }
    if (lane == 0)
      UNTIL(&emptied[warp], i); // @wait_emptied
    __syncwarp();               // @sync_emptied
    boxes[warp][lane] = v;      // @write
    __syncwarp();               // @sync_write
    if (lane == 0)
      ST_AT("release.cta.shared::cta", SHARED(&filled[warp]), i + 1); // @fill
  }
}

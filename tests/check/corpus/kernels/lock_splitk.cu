// Parts of a sum over k, two tiles of 64 words: the CTAs of a tile add theirs one after another, in the order
// of k, each when the tile's word says its number. The last ones start first.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    lock_splitk(const float* in, uint32_t* turns, float* out, int parts) {
  uint32_t t = threadIdx.x, tile = blockIdx.x % 2, part = parts - 1 - blockIdx.x / 2, seen;
  float v = in[(part * 2 + tile) * 64 + t] * (1 + part);
  if (t == 0)
    do
      LD("acquire.gpu.global", seen, turns + tile); // @wait
    while (seen != part);
  __syncthreads(); // @sync_turn
  if (part > 0)
    v = v * 0.5f + out[tile * 64 + (t ^ 32)]; // @read
  __syncthreads();                            // @sync_read
  out[tile * 64 + t] = v;                     // @write
  __syncthreads();                            // @sync_done
  if (t == 0)
    ST("release.gpu.global", turns + tile, part + 1); // @pass
}

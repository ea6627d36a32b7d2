// Tiles in four stages of cp.async, of which registers are fetched a step ahead: after the last tile, too,
// words that nobody uses. The stage they are fetched from is where the threads then put their sums.
#include "ops.cuh"

__device__ void fetch(uint32_t (&to)[4], const uint32_t* from, int t) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    to[i] = from[(t + 32) % 128 * 4 + i]; // @fetch
}

extern "C" __global__ void __launch_bounds__(128)
    fetch_past_end(const uint32_t* in, uint32_t* out, uint32_t* last, int tiles, int keep) {
  __shared__ __align__(16) uint32_t stages[4][2][512];
  int t = threadIdx.x;
  auto load = [&](int tile) {
    if (tile < tiles)
      for (int half = 0; half < 2; ++half)
        CP_ASYNC_16(SHARED(&stages[tile % 4][half][t * 4]), in + (tile * 2 + half) * 512 + t * 4); // @load
    CP_ASYNC_COMMIT();
  };
  for (int i = 0; i < 3; ++i)
    load(i);
  CP_ASYNC_WAIT(2); // @wait_first
  __syncthreads();  // @sync_first
  uint32_t first[4], second[4], sums[4] = {};
  fetch(first, stages[0][0], t);
  for (int tile = 0; tile < tiles;) {
#pragma unroll
    for (int stage = 0; stage < 4; ++stage) {
      load(tile + 3);
      fetch(second, stages[stage][1], t);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] += first[i];
      CP_ASYNC_WAIT(2); // @wait
      __syncthreads();  // @sync
      fetch(first, stages[(stage + 1) % 4][0], t);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] += 3 * second[i];
      if (++tile == tiles)
        break;
    }
  }
  uint32_t* mine = stages[1][0] + t * 4; // of five tiles the one after the last
#pragma unroll
  for (int i = 0; i < 4; ++i)
    mine[i] = sums[i]; // @put
  if (keep)            // @keep
    last[t] = first[0];
  __syncthreads(); // @sync_put
#pragma unroll
  for (int i = 0; i < 4; ++i)
    out[t * 4 + i] = stages[1][0][(t + 64) % 128 * 4 + i]; // @get
}

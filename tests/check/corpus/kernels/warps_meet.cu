// Three of four warps meet at a counter in shared memory, round after round, and use each other's cells; the
// fourth has nothing to do with that, and takes the sums at the end, when a flag says so.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(128) warps_meet(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t cells[2][96], arrived, ended;
  uint32_t t = threadIdx.x, lane = t % 32, seen;
  if (t == 0)
    arrived = ended = 0; // @clear
  if (t < 96)
    cells[0][t] = in[blockIdx.x * 96 + t]; // @first
  __syncthreads();                         // @sync_first
  if (t >= 96) {
    if (lane == 0)
      do
        LD_AT("acquire.cta.shared::cta", seen, SHARED(&ended)); // @wait_end
      while (seen != 3);
    __syncwarp(); // @sync_end
    uint32_t* last = cells[rounds % 2];
    out[blockIdx.x * 32 + lane] = last[lane] + last[32 + lane] + last[64 + lane]; // @sum
    return;
  }
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    cells[(i + 1) % 2][t] = cells[i % 2][95 - t] * 3 + cells[i % 2][(t + 32) % 96]; // @cells
    __syncwarp();                                                                   // @sync_arrive
    if (lane == 0) {
      RED_ADD_AT("release.cta.shared::cta", SHARED(&arrived), 1); // @arrive
      do
        LD_AT("acquire.cta.shared::cta", seen, SHARED(&arrived)); // @wait
      while (seen < 3 * (i + 1));
    }
    __syncwarp(); // @sync_go
  }
  if (lane == 0)
    RED_ADD_AT("release.cta.shared::cta", SHARED(&ended), 1); // @end
}

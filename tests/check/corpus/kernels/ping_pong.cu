// Two warpgroups take turns with a table in shared memory: each puts its words there, turned by what the
// other has left, and takes them out. Barriers 1 and 2 give the turn to the first and the second; barriers 3
// and 4 are of a warpgroup alone. The first warp of a third warpgroup writes how far the others are.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
    ping_pong(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t table[128], done[2];
  int t = threadIdx.x, group = t / 128, mine = t % 128;
  if (t < 128)
    table[t] = t;  // @first
  __syncthreads(); // @sync_start
  if (group == 2) {
    REGISTERS_GIVE(24); // @give
    BAR_SYNC(5, 192);   // @sync_done
    if (t < 258)
      out[t] = done[t - 256]; // @read_done
    return;
  }
  REGISTERS_TAKE(208); // @take
  uint32_t v = in[t];
  if (group == 1)
    BAR_ARRIVE(1, 256); // @give_first
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    BAR_SYNC(1 + group, 256);     // @wait_turn
    v += table[(mine + 1) % 128]; // @read
    BAR_SYNC(3 + group, 128);     // @sync_read
    table[mine] = v + i;          // @write
    if (group == 0 || i + 1 < rounds)
      BAR_ARRIVE(2 - group, 256); // @give_turn
  }
  uint32_t elected;
  ELECT(elected); // @elect
  if (elected && mine < 32)
    done[group] = v; // @write_done
  out[t] = v;
  if (mine < 32)
    BAR_ARRIVE(5, 192); // @arrive_done
}

// Two teams of 64 threads, each with a named barrier of its own, turn rows of a matrix round in shared
// memory; then all write what they have.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128) two_teams(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t rows[2][64];
  __shared__ uint32_t sums[2];
  int t = threadIdx.x, team = t / 64, mine = t % 64;
  rows[team][mine] = in[t]; // @write
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (team == 0)
      BAR_SYNC(1, 64); // @sync_1
    else
      BAR_SYNC(2, 64);                            // @sync_2
    uint32_t v = rows[team][(mine + 1) % 64] + i; // @read
    if (team == 0)
      BAR_SYNC(1, 64); // @sync_1_again
    else
      BAR_SYNC(2, 64);    // @sync_2_again
    rows[team][mine] = v; // @turn
  }
  __syncthreads(); // @sync_all
  if (mine < 32) {
    uint32_t v = __reduce_add_sync(0xffffffff, rows[team ^ 1][mine]); // @reduce
    if (mine == 0)
      sums[team] = v; // @sum
  }
  int odd = __syncthreads_count(in[t] & 1);             // @sync_count
  out[t] = rows[team ^ 1][mine] + sums[team ^ 1] + odd; // @store
}

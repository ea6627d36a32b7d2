// Rows of words with a lock each, and moves from one row to another under both locks, the lower row's taken
// first so that nobody waits in a circle. `moves` has a pair of rows for each CTA and round.
#include "strong.cuh"

#define TAKE(p)                                                                                              \
  do                                                                                                         \
    CAS("acquire.gpu.global", old, p, 0, 1);                                                                 \
  while (old != 0)

extern "C" __global__ void __launch_bounds__(32)
    lock_pair(const uint32_t* moves, uint32_t* locks, uint32_t* rows, int rounds) {
  uint32_t t = threadIdx.x, old;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t move = moves[blockIdx.x * rounds + i];
    uint32_t from = move % 4, to = (from + 1 + move / 4 % 3) % 4;
    if (t == 0) {
      TAKE(locks + min(from, to)); // @take_low
      TAKE(locks + max(from, to)); // @take_high
    }
    __syncwarp();                            // @sync_taken
    uint32_t some = rows[from * 32 + t] / 2; // @read_from
    rows[from * 32 + t] -= some;             // @write_from
    rows[to * 32 + t] += some;               // @write_to
    __syncwarp();                            // @sync_done
    if (t == 0) {
      ST("release.gpu.global", locks + from, 0); // @give_from
      ST("release.gpu.global", locks + to, 0);   // @give_to
    }
  }
}

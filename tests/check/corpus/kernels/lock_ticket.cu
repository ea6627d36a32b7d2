// A ticket lock: who comes draws a number and waits till it is served, who goes serves the next. What the
// lock guards depends on the numbers alone, not on the CTAs that drew them.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    lock_ticket(uint32_t* next, uint32_t* serving, uint32_t* row, uint32_t* log, int rounds) {
  __shared__ uint32_t number;
  uint32_t t = threadIdx.x, mine, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      ATOM_ADD("relaxed.gpu.global", mine, next, 1); // @draw
      do
        LD("acquire.gpu.global", seen, serving); // @wait
      while (seen != mine);
      number = mine; // @number
    }
    __syncthreads();           // @sync_taken
    mine = number;             // @read_number
    uint32_t v = row[63 - t];  // @read
    __syncthreads();           // @sync_read
    row[t] = v * 3 + mine + t; // @write
    __syncthreads();           // @sync_done
    if (t == 0) {
      log[mine] = v;                               // @log
      ST("release.gpu.global", serving, mine + 1); // @serve
    }
  }
}

// Two counting semaphores about a ring of three rows: one counts rows that are full, the other rows that are
// free. Who needs one takes it off the count as soon as there is one; who has done with it adds it to the
// other count. CTA 1 fills, CTA 0 empties.
#include "strong.cuh"

#define DOWN(count)                                                                                          \
  do {                                                                                                       \
    LD("relaxed.gpu.global", n, count);                                                                      \
    old = n + 1;                                                                                             \
    if (n > 0)                                                                                               \
      CAS("acquire.gpu.global", old, count, n, n - 1);                                                       \
  } while (old != n)

extern "C" __global__ void __launch_bounds__(64)
    semaphore_pair(uint32_t* rows, uint32_t* full, uint32_t* free, uint32_t* out, int count) {
  uint32_t t = threadIdx.x, n, old;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    uint32_t* row = rows + i % 3 * 64;
    if (blockIdx.x == 1) {
      if (t == 0)
        DOWN(free);          // @down_free
      __syncthreads();       // @sync_free
      row[t] = i * 1000 + t; // @write
      __syncthreads();       // @sync_written
      if (t == 0)
        RED_ADD("release.gpu.global", full, 1); // @up_full
    } else {
      if (t == 0)
        DOWN(full);                  // @down_full
      __syncthreads();               // @sync_full
      out[i * 64 + t] = row[63 - t]; // @read
      __syncthreads();               // @sync_read
      if (t == 0)
        RED_ADD("release.gpu.global", free, 1); // @up_free
    }
  }
}

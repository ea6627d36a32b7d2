// A lock that is looked at before it is taken: an exchange with acquire takes it, reads wait till it looks
// free, a store with release gives it back. It guards a row that all threads of a CTA change. CTA 0 begins
// with it, and keeps it till the others have found it taken.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    lock_ttas(uint32_t* lock, uint32_t* met, uint32_t* row, uint32_t* total) {
  uint32_t t = threadIdx.x, old = 0, seen;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      if (blockIdx.x == 0 && i == 0) {
        do
          LD("relaxed.gpu.global", seen, met);
        while (seen != gridDim.x - 1);
      } else {
#pragma unroll 1
        for (;;) {
          ATOM_EXCH("acquire.gpu.global", old, lock, 1); // @take
          if (old == 0)
            break;
          if (i == 0)
            RED_ADD("relaxed.gpu.global", met, 1);
          do
            LD("relaxed.gpu.global", seen, lock); // @look
          while (seen != 0);
        }
      }
      *total += blockIdx.x + 1; // @total
    }
    __syncthreads();                 // @sync_taken
    uint32_t v = row[t ^ 33];        // @read
    __syncthreads();                 // @sync_read
    row[t] = v + t * 5 + blockIdx.x; // @write
    __syncthreads();                 // @sync_done
    if (t == 0)
      ST("release.gpu.global", lock, 0); // @give
  }
}

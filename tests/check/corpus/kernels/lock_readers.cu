// A lock of many readers or one writer: a word that counts readers, and has bit 31 of a writer. A reader that
// meets a writer takes its count back and comes again. CTA 0 begins with the lock and keeps it till all
// readers have met it; CTA 1 writes when they have left, and they read once more.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    lock_readers(uint32_t* lock, uint32_t* met, uint32_t* table, uint32_t* sums) {
  constexpr uint32_t writer = 1u << 31;
  uint32_t t = threadIdx.x, readers = gridDim.x - 2, old, sum = 0;
  if (blockIdx.x < 2) {
    if (t == 0) {
      do
        LD("relaxed.gpu.global", old, met);
      while (old < readers * (1 + blockIdx.x));
      if (blockIdx.x == 1)
        do
          CAS("acquire.gpu.global", old, lock, 0, writer); // @take
        while (old != 0);
    }
    __syncwarp();                                   // @sync_taken
    table[t] = table[t] * 2 + blockIdx.x * 100 + t; // @write
    __syncwarp();                                   // @sync_written
    if (t == 0)
      RED_ADD("release.gpu.global", lock, writer); // @give
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
#pragma unroll 1
      for (;;) {
        ATOM_ADD("acquire.gpu.global", old, lock, 1); // @enter
        if (old < writer)
          break;
        RED_ADD("relaxed.gpu.global", lock, ~0u); // @back
        if (i == 0)
          RED_ADD("relaxed.gpu.global", met, 1);
        do
          LD("relaxed.gpu.global", old, lock); // @look
        while (old >= writer);
      }
    }
    __syncwarp();                  // @sync_entered
    sum = sum * 3 + table[t ^ 17]; // @read
    __syncwarp();                  // @sync_read
    if (t == 0) {
      RED_ADD("release.gpu.global", lock, ~0u); // @leave
      if (i == 0)
        RED_ADD("relaxed.gpu.global", met, 1);
    }
  }
  sums[blockIdx.x * 32 + t] = sum;
}

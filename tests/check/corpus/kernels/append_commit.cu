// A log that all CTAs append to: room is drawn from a counter, filled, and committed in the order of the
// rooms, so that all before `committed` is there. Who commits has waited for those before him, and passes on
// what they wrote. CTA 0 reads all of it at the end.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    append_commit(uint32_t* drawn, uint32_t* committed, uint32_t* log, uint32_t* ended, uint32_t* sums,
                  int each) {
  uint32_t t = threadIdx.x, from, seen = 0, writers = gridDim.x - 1;
  if (blockIdx.x > 0) {
#pragma unroll 1
    for (int i = 0; i < each; ++i) {
      uint32_t size = 3 + i * 5;
      if (t == 0)
        ATOM_ADD("relaxed.gpu.global", from, drawn, size); // @draw
      from = __shfl_sync(0xffffffff, from, 0);
      if (t < size)
        log[from + t] = blockIdx.x * 1000 + i * 100 + t; // @write
      __syncwarp();                                      // @sync_written
      if (t == 0) {
        do
          LD("acquire.gpu.global", seen, committed); // @wait
        while (seen != from);
        ST("release.gpu.global", committed, from + size); // @commit
      }
    }
    if (t == 0)
      RED_ADD("relaxed.gpu.global", ended, 1);
    return;
  }
  uint32_t all = 0, sum = 0;
  for (int i = 0; i < each; ++i)
    all += writers * (3 + i * 5);
  if (t == 0) {
    do
      LD("relaxed.gpu.global", seen, ended);
    while (seen != writers);
    do
      LD("acquire.gpu.global", seen, committed); // @look
    while (seen != all);
  }
  __syncwarp(); // @sync_all
#pragma unroll 1
  for (uint32_t at = t; at < all; at += 32)
    sum += log[at]; // @read
  sums[t] = sum;
}

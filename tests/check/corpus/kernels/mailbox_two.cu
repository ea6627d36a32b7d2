// Two boxes in global memory from CTA 1 to CTA 0, in turns: a box is filled when its last content has been
// taken, which `taken` counts, and read when it has been filled, which `filled` counts.
#include "strong.cuh"

#define UNTIL(p, n)                                                                                          \
  do                                                                                                         \
    LD("acquire.gpu.global", seen, p);                                                                       \
  while (seen != n)

extern "C" __global__ void __launch_bounds__(64)
    mailbox_two(uint32_t* boxes, uint32_t* filled, uint32_t* taken, uint32_t* out, int rounds) {
  uint32_t t = threadIdx.x, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t box = i % 2, turn = i / 2;
    if (blockIdx.x == 1) {
      if (t == 0)
        UNTIL(taken + box, turn);             // @wait_taken
      __syncthreads();                        // @sync_empty
      boxes[box * 64 + t] = t * 7 + i * 1000; // @write
      __syncthreads();                        // @sync_written
      if (t == 0)
        ST("release.gpu.global", filled + box, turn + 1); // @fill
    } else {
      if (t == 0)
        UNTIL(filled + box, turn + 1);              // @wait_filled
      __syncthreads();                              // @sync_full
      out[i * 64 + t] = boxes[box * 64 + (t ^ 33)]; // @read
      __syncthreads();                              // @sync_read
      if (t == 0)
        ST("release.gpu.global", taken + box, turn + 1); // @take
    }
  }
}

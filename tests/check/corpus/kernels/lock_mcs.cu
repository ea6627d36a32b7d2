// A queue lock: each CTA has a node, and waits at a word of its own till the one before it in the queue hands
// the lock on. `tail` is the last node's number and 1, 0 if the lock is free. CTA 0 begins with the lock, and
// keeps it till the others have come.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    lock_mcs(uint32_t* tail, uint32_t* met, uint32_t* next, uint32_t* waits, uint32_t* row, int rounds) {
  uint32_t t = threadIdx.x, me = blockIdx.x, last, after, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      if (me > 0 || i > 0) {
        next[me] = 0;                                        // @clear_next
        waits[me] = 1;                                       // @clear_waits
        ATOM_EXCH("acq_rel.gpu.global", last, tail, me + 1); // @take
        RED_ADD("relaxed.gpu.global", met, 1);
        if (last != 0) {
          ST("release.gpu.global", next + last - 1, me + 1); // @queue
          do
            LD("acquire.gpu.global", seen, waits + me); // @wait
          while (seen != 0);
        }
      } else {
        do
          LD("relaxed.gpu.global", seen, met);
        while (seen != gridDim.x - 1);
      }
    }
    __syncwarp();             // @sync_taken
    uint32_t v = row[31 - t]; // @read
    __syncwarp();             // @sync_read
    row[t] = v * 3 + t + me;  // @write
    __syncwarp();             // @sync_done
    if (t == 0) {
      LD("acquire.gpu.global", after, next + me); // @look
      if (after == 0) {
        CAS("release.gpu.global", last, tail, me + 1, 0); // @give
        if (last != me + 1)
          do
            LD("acquire.gpu.global", after, next + me); // @wait_next
          while (after == 0);
      }
      if (after != 0)
        ST("release.gpu.global", waits + after - 1, 0); // @hand
    }
  }
}

// What a release gives is carried on by atomics of others behind it, relaxed ones too: CTA 2 writes a row and
// sets a word, CTA 1 adds to that word without a look at the row, and CTA 0, which comes when both have been
// there, reads the row.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    chain_relaxed(const uint32_t* in, uint32_t* word, uint32_t* met, uint32_t* row, uint32_t* out) {
  uint32_t t = threadIdx.x, seen;
  if (blockIdx.x == 2) {
    row[t] = in[t] * 3 + 1; // @write
    __syncthreads();        // @sync_written
    if (t == 0)
      ST("release.gpu.global", word, 1); // @set
  } else if (blockIdx.x == 1) {
    if (t == 0) {
      do
        LD("relaxed.gpu.global", seen, word); // @look
      while (seen == 0);
      ATOM_ADD("relaxed.gpu.global", seen, word, 10); // @add
      RED_ADD("relaxed.gpu.global", met, 1);
    }
  } else {
    if (t == 0) {
      do
        LD("relaxed.gpu.global", seen, met);
      while (seen == 0);
      do
        LD("acquire.gpu.global", seen, word); // @wait
      while (seen != 11);
    }
    __syncthreads();      // @sync_wait
    out[t] = row[63 - t]; // @read
  }
}

// A table that is made once, by who comes first, and used by all: a state of 0, 1 (being made) and 2 (there),
// looked at before it is fought for. Who makes it waits till the others but the last CTA have come; that one
// comes when the table is there.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    once_init(uint32_t* state, uint32_t* met, uint32_t* table, uint32_t* out) {
  __shared__ uint32_t makes;
  uint32_t t = threadIdx.x, was, seen, last = gridDim.x - 1;
  if (t == 0) {
    makes = 0;
    if (blockIdx.x == last)
      do
        LD("relaxed.gpu.global", seen, state);
      while (seen != 2);
    LD("acquire.gpu.global", was, state); // @look
    if (was != 2) {
      CAS("relaxed.gpu.global", was, state, 0, 1); // @claim
      RED_ADD("relaxed.gpu.global", met, 1);
      makes = was == 0; // @makes
      if (was == 0)
        do
          LD("relaxed.gpu.global", seen, met);
        while (seen != last);
      else
        do
          LD("acquire.gpu.global", seen, state); // @wait
        while (seen != 2);
    }
  }
  __syncthreads();        // @sync_known
  if (makes) {            // @read_makes
    table[t] = t * t + 5; // @write
    __syncthreads();      // @sync_made
    if (t == 0)
      ST("release.gpu.global", state, 2); // @made
  }
  out[blockIdx.x * 64 + t] = table[t ^ 33] * 2; // @read
}

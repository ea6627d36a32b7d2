// The best of all numbers, by atomic maxima, and who has it: when all have put theirs in, which a count says,
// everyone reads the maximum with a plain load, since nobody changes it any more; who has it writes his
// place, and a flag says so to CTA 0.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    best_flag(const uint32_t* in, uint32_t* best, uint32_t* count, uint32_t* place, uint32_t* flag,
              uint32_t* out) {
  uint32_t t = threadIdx.x, at = blockIdx.x * 64 + t, v = in[at] * 256 + at, seen;
  RED_MAX("relaxed.gpu.global", best, v); // @max
  __syncthreads();                        // @sync_max
  if (t == 0) {
    RED_ADD("release.gpu.global", count, 1); // @arrive
    do
      LD("acquire.gpu.global", seen, count); // @wait
    while (seen != gridDim.x);
  }
  __syncthreads();                     // @sync_all
  if (*best == v) {                    // @read_best
    *place = at;                       // @write
    ST("release.gpu.global", flag, 1); // @flag
  }
  if (at == 0) {
    do
      LD("acquire.gpu.global", seen, flag); // @poll
    while (seen == 0);
    *out = *place + *best; // @read
  }
}

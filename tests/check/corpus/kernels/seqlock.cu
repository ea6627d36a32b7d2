// A sequence lock: CTA 1 writes a pair under a number that is odd meanwhile, the others read the pair and the
// number before and after, and again if it was odd or has changed. The pair is read while it is written, so
// its accesses are relaxed, and fences keep them between those of the number. CTA 0 reads the last pair.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    seqlock(uint32_t* number, uint32_t* pair, uint32_t* extra, uint32_t* out, int writes) {
  if (threadIdx.x != 0)
    return;
  uint32_t n, again, a, b;
  if (blockIdx.x == 1) {
#pragma unroll 1
    for (int i = 1; i <= writes; ++i) {
      ST("relaxed.gpu.global", number, 2 * i - 1); // @odd
      FENCE("acq_rel.gpu");                        // @fence_odd
      ST("relaxed.gpu.global", pair, i * 3);       // @write_first
      ST("relaxed.gpu.global", pair + 1, i * 5);   // @write_second
      if (i == writes)
        *extra = i * 7;                        // @extra
      ST("release.gpu.global", number, 2 * i); // @even
    }
    return;
  }
#pragma unroll 1
  do {
    LD("acquire.gpu.global", n, number);     // @number
    LD("relaxed.gpu.global", a, pair);       // @read_first
    LD("relaxed.gpu.global", b, pair + 1);   // @read_second
    FENCE("acq_rel.gpu");                    // @fence_again
    LD("relaxed.gpu.global", again, number); // @again
  } while (n % 2 == 1 || n != again || (blockIdx.x == 0 && n != 2 * writes));
  out[blockIdx.x * 2] = a;
  out[blockIdx.x * 2 + 1] = b;
  if (blockIdx.x == 0)
    out[1] = b + *extra; // @read_extra
}

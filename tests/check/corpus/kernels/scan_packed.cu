// Look-back where a CTA's word has both what it says and what it is about: a state in the upper half, a sum
// in the lower. The two are one 64-bit access, so it may be relaxed; nothing else is handed on. The last CTA
// starts first.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    scan_packed(const uint32_t* in, uint32_t* out, uint64_t* words) {
  uint32_t lane = threadIdx.x, block = gridDim.x - 1 - blockIdx.x, v = in[block * 32 + lane];
  for (int d = 1; d < 32; d *= 2) {
    uint32_t w = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d)
      v += w;
  }
  uint32_t total = __shfl_sync(0xffffffff, v, 31), before = 0;
  if (lane == 0) {
    uint64_t seen = 0;
    if (block > 0)
      ST64("relaxed.gpu.global", words + block, 1ull << 32 | total); // @sum
#pragma unroll 1
    for (int b = block - 1; b >= 0 && seen >> 32 != 2; --b) {
      do
        LD64("relaxed.gpu.global", seen, words + b); // @look
      while (seen >> 32 == 0);
      before += (uint32_t)seen;
    }
    ST64("relaxed.gpu.global", words + block, 2ull << 32 | (before + total)); // @prefix
  }
  out[block * 32 + lane] = __shfl_sync(0xffffffff, before, 0) + v;
}

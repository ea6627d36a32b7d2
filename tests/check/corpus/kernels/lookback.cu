// Inclusive scan in one pass, decoupled look-back: a CTA of 32 threads scans its 32 numbers, publishes their
// sum, looks back at the CTAs before it until one has its whole prefix, publishes its own. `state` has a word
// a CTA: 1, its sum is there; 2, its prefix. Numbers are taken from the end, so that who starts first has to
// look back.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(32)
    lookback(const uint32_t* in, uint32_t* out, uint32_t* state, uint32_t* sums, uint32_t* prefixes) {
  int lane = threadIdx.x, block = gridDim.x - 1 - blockIdx.x;
  uint32_t v = in[block * 32 + lane];
  for (int d = 1; d < 32; d *= 2) {
    uint32_t w = __shfl_up_sync(0xffffffff, v, d); // @shuffle
    if (lane >= d)
      v += w;
  }
  uint32_t total = __shfl_sync(0xffffffff, v, 31), before = 0; // @total
  if (lane == 0) {
    if (block > 0) {
      sums[block] = total;                                                                  // @sum
      asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(state + block), "r"(1) : "memory"); // @publish_sum
#pragma unroll 1
      for (int b = block - 1;; --b) {
        uint32_t seen;
        do {
          asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(state + b) : "memory"); // @look
        } while (seen == 0);
        if (seen == 2) {
          before += prefixes[b]; // @read_prefix
          break;
        }
        before += sums[b]; // @read_sum
      }
    }
    prefixes[block] = before + total;                                                     // @prefix
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(state + block), "r"(2) : "memory"); // @publish_prefix
  }
  before = __shfl_sync(0xffffffff, before, 0);
  out[block * 32 + lane] = before + v; // @store
}

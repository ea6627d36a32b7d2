// A list that all threads push nodes on, by a CAS of its head. CTA 0 takes all that is there by an exchange,
// again and again, and sums it up, till it has had every node.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    stack_push(const uint32_t* in, uint32_t* head, uint32_t* next, uint32_t* values, uint32_t* out) {
  uint32_t t = threadIdx.x, first, old;
  if (blockIdx.x > 0) {
    uint32_t node = (blockIdx.x - 1) * 32 + t + 1;
    values[node] = in[node - 1];           // @value
    LD("relaxed.gpu.global", first, head); // @look
#pragma unroll 1
    for (;;) {
      next[node] = first;                                // @next
      CAS("release.gpu.global", old, head, first, node); // @push
      if (old == first)
        break;
      first = old;
    }
  } else if (t == 0) {
    uint32_t sum = 0, missing = (gridDim.x - 1) * 32;
#pragma unroll 1
    while (missing > 0) {
      ATOM_EXCH("acquire.gpu.global", first, head, 0); // @take_all
#pragma unroll 1
      for (; first != 0; first = next[first]) { // @follow
        sum += values[first] * 3;               // @read
        --missing;
      }
    }
    *out = sum;
  }
}

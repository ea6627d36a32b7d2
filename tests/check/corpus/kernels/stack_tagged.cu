// A free list of nodes that are popped, used and pushed again: its head is a node and a count of pops in one
// 64-bit word, so that a CAS fails where the list has changed between. Who pops reads the next node of one
// that may be another's by then, so that word is relaxed; what a node holds is its owner's.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    stack_tagged(uint64_t* head, uint32_t* next, uint32_t* held, uint32_t* out, int rounds) {
  uint32_t t = threadIdx.x;
  if (t >= 3)
    return;
  uint64_t was, now, old;
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t node, after;
#pragma unroll 1
    for (;;) {
      LD64("acquire.gpu.global", was, head); // @look
      node = (uint32_t)was;
      if (node == 0)
        continue;
      LD("relaxed.gpu.global", after, next + node); // @after
      now = ((was >> 32) + 1) << 32 | after;
      CAS64("acquire.gpu.global", old, head, was, now); // @pop
      if (old == was)
        break;
    }
    uint32_t v = held[node];                  // @read
    held[node] = v * 2 + blockIdx.x * 10 + t; // @write
    sum += v;
    LD64("relaxed.gpu.global", was, head); // @look_again
#pragma unroll 1
    for (;;) {
      ST("relaxed.gpu.global", next + node, (uint32_t)was); // @next
      now = (was >> 32) << 32 | node;
      CAS64("release.gpu.global", old, head, was, now); // @push
      if (old == was)
        break;
      was = old;
    }
  }
  out[blockIdx.x * 3 + t] = sum;
}

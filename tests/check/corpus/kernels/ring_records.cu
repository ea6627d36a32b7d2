// A ring of 16 words from one thread to another, CTA 1 to CTA 0: records of a length and so many words.
// `head` counts the words that were put, `tail` those that were taken; each side looks at the other's count
// only if what it knew of it is not enough.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    ring_records(uint32_t* ring, uint32_t* head, uint32_t* tail, uint32_t* out, int records) {
  if (threadIdx.x != 0)
    return;
  uint32_t at = 0, known = 0;
#pragma unroll 1
  for (int i = 0; i < records; ++i) {
    if (blockIdx.x == 1) {
      uint32_t length = 1 + i * 5 % 6;
      while (at + length + 1 - known > 16)
        LD("acquire.gpu.global", known, tail); // @look_tail
      ring[at % 16] = length;                  // @put_length
#pragma unroll 1
      for (uint32_t j = 1; j <= length; ++j)
        ring[(at + j) % 16] = i * 100 + j; // @put
      at += length + 1;
      ST("release.gpu.global", head, at); // @push
    } else {
      while (known == at)
        LD("acquire.gpu.global", known, head);  // @look_head
      uint32_t length = ring[at % 16], sum = 0; // @get_length
#pragma unroll 1
      for (uint32_t j = 1; j <= length; ++j)
        sum = sum * 3 + ring[(at + j) % 16]; // @get
      at += length + 1;
      ST("release.gpu.global", tail, at); // @pop
      out[i] = sum;
    }
  }
}

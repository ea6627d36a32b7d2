// A bit for each part of a table: who has made a part sets its bit, who needs some parts waits for their
// bits. Every CTA makes two parts and needs the next CTA's two.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    bits_ready(const uint32_t* in, uint32_t* bits, uint32_t* parts, uint32_t* out) {
  uint32_t t = threadIdx.x, me = blockIdx.x, half = t / 32, next = (me + 1) % gridDim.x, seen;
  parts[me * 64 + t] = in[me * 64 + t] * 3 + 1; // @write
  __syncwarp();                                 // @sync_written
  if (t % 32 == 0)
    RED_OR("release.gpu.global", bits, 1u << (me * 2 + half)); // @set
  if (t == 0)
    do
      LD("acquire.gpu.global", seen, bits); // @wait
    while ((seen >> next * 2 & 3) != 3);
  __syncthreads();                              // @sync_ready
  out[me * 64 + t] = parts[next * 64 + 63 - t]; // @read
}

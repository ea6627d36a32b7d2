// Parts of a product over k, two tiles of 64 words: every CTA stores its part, and the one that comes last to
// a tile adds them up. The tile's counter wraps, so that it is 0 for the next launch, and its atomic acquires
// and releases.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    tile_last(const float* in, float* parts, uint32_t* counts, float* out, uint32_t splits) {
  __shared__ bool last;
  uint32_t t = threadIdx.x, tile = blockIdx.x % 2, part = blockIdx.x / 2, old;
  parts[(tile * splits + part) * 64 + t] = in[blockIdx.x * 64 + t] * (part + 1); // @write
  __syncthreads();                                                               // @sync_written
  if (t == 0) {
    ATOM_INC("acq_rel.gpu.global", old, counts + tile, splits - 1); // @count
    last = old == splits - 1;                                       // @last
  }
  __syncthreads(); // @sync_last
  if (!last)       // @read_last
    return;
  float sum = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < splits; ++i)
    sum = sum * 2 + parts[(tile * splits + i) * 64 + (63 - t)]; // @read
  out[tile * 64 + t] = sum;
}

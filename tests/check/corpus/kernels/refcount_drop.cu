// Objects that all CTAs hold: each writes its part of an object and drops its reference, and who drops the
// last one reads all parts and frees the object, that is, wipes it. A drop releases, and only the last one
// needs to acquire: a fence does it.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    refcount_drop(uint32_t* counts, uint32_t* objects, uint32_t* sums) {
  if (threadIdx.x >= 6)
    return;
  uint32_t o = threadIdx.x, old, sum = 0;
  objects[o * 4 + blockIdx.x] = o * 100 + blockIdx.x + 1; // @write
  ATOM_ADD("release.gpu.global", old, counts + o, ~0u);   // @drop
  if (old != 1)
    return;
  FENCE("acq_rel.gpu"); // @fence
#pragma unroll 1
  for (uint32_t i = 0; i < gridDim.x; ++i) {
    sum += objects[o * 4 + i] * (i + 1); // @read
    objects[o * 4 + i] = 0;              // @wipe
  }
  sums[o] = sum;
}

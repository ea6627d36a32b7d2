// Versions of a row that CTA 1 makes and publishes, and the others read when they see a new one: one of two
// rows is current, the other is made anew when all readers have said that they have read what came after it.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    rcu_versions(uint32_t* current, uint32_t* read, uint32_t* rows, uint32_t* sums, int versions) {
  uint32_t t = threadIdx.x, seen, sum = 0;
  if (blockIdx.x == 1) {
#pragma unroll 1
    for (uint32_t v = 1; v <= versions; ++v) {
      if (v > 2 && t < gridDim.x && t != 1)
        do
          LD("acquire.gpu.global", seen, read + t); // @wait_read
        while (seen + 1 < v);
      __syncwarp();                        // @sync_free
      rows[v % 2 * 32 + t] = v * 1000 + t; // @write
      __syncwarp();                        // @sync_written
      if (t == 0)
        ST("release.gpu.global", current, v); // @publish
    }
    return;
  }
#pragma unroll 1
  for (uint32_t v = 0; v < versions;) {
    if (t == 0)
      do
        LD("acquire.gpu.global", seen, current); // @look
      while (seen == v);
    v = __shfl_sync(0xffffffff, seen, 0);
    __syncwarp();                       // @sync_look
    sum += rows[v % 2 * 32 + (31 - t)]; // @read
    __syncwarp();                       // @sync_read
    if (t == 0)
      ST("release.gpu.global", read + blockIdx.x, v); // @say_read
  }
  sums[blockIdx.x * 32 + t] = sum;
}

// A table with a lock for each of its bins, taken by single threads: lanes of a warp too wait for each other,
// so who has it must get on without the others. A bin has a count, the sum and the last number.
#include "strong.cuh"

struct Bin {
  uint32_t lock, count, sum, last;
};

extern "C" __global__ void __launch_bounds__(64) lock_bins(const uint32_t* in, Bin* bins, int n) {
#pragma unroll 1
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    uint32_t v = in[i], old;
    Bin* bin = bins + v % 6;
    bool done = false;
#pragma unroll 1
    while (!done) {
      CAS("acquire.gpu.global", old, &bin->lock, 0, 1); // @take
      if (old == 0) {
        bin->count += 1;                         // @count
        bin->sum += v;                           // @sum
        bin->last = v;                           // @last
        ST("release.gpu.global", &bin->lock, 0); // @give
        done = true;
      }
    }
  }
}

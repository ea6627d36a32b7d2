// A sum in shared memory, a warp on its own with __syncwarp between the steps, and the largest number with
// votes and shuffles.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64) warp_tree(const uint32_t* in, uint32_t* out, int n) {
  __shared__ uint32_t sums[2][32];
  __shared__ uint32_t most[2];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 64 + t;
  uint32_t v = i < n ? in[i] : i;
  sums[warp][lane] = v; // @write
  __syncwarp();         // @sync_write
#pragma unroll 1
  for (int d = 16; d > 0; d /= 2) {
    if (lane < d)
      sums[warp][lane] = sums[warp][lane] + sums[warp][lane + d]; // @add
    __syncwarp();                                                 // @sync
  }
  uint32_t odd = __ballot_sync(0xffffffff, v & 1); // @ballot
  if (v & 1) {
    uint32_t largest = __reduce_max_sync(odd, v); // @largest
    if (largest == v)
      most[warp] = largest; // @most
  } else if (odd == 0) {
    most[warp] = 0;
  }
  __syncthreads(); // @sync_end
  if (lane == 0)
    out[blockIdx.x * 2 + warp] = sums[warp ^ 1][0] + most[warp]; // @store
}

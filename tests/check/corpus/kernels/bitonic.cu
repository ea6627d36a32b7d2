// Sorts 128 keys with their numbers in shared memory: a bitonic network, 64 threads.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64) bitonic(const uint32_t* in, uint32_t* out, uint32_t* order) {
  __shared__ uint32_t keys[128];
  __shared__ uint32_t places[128];
  int t = threadIdx.x;
  for (int i = t; i < 128; i += 64) {
    keys[i] = in[blockIdx.x * 128 + i]; // @load
    places[i] = i;                      // @number
  }
#pragma unroll 1
  for (int size = 2; size <= 128; size *= 2) {
#pragma unroll 1
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads(); // @sync
      int a = 2 * t - (t & (stride - 1)), b = a + stride;
      bool up = (a & size) == 0;
      uint32_t x = keys[a], y = keys[b]; // @read
      if ((x > y) == up) {               // @compare
        keys[a] = y;                     // @swap
        keys[b] = x;                     // @swap
        uint32_t p = places[a];
        places[a] = places[b]; // @swap_places
        places[b] = p;         // @swap_places
      }
    }
  }
  __syncthreads(); // @sync_end
  for (int i = t; i < 128; i += 64) {
    out[blockIdx.x * 128 + i] = keys[i ^ 1]; // @store
    order[blockIdx.x * 128 + i] = places[i]; // @store_places
  }
}

// CTAs in a chain: each waits for the flag of the one before, adds to its 64 words, hands them on and sets
// its own flag. The flag is volatile and has fences, as code before C++11's atomics has it.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64)
    message(uint32_t* data, volatile uint32_t* flags, uint32_t* out) {
  int t = threadIdx.x, b = blockIdx.x;
  uint32_t v = t * 5 + 1;
  if (b > 0) {
    if (t == 0) {
      while (flags[b - 1] == 0) // @poll
        ;
      __threadfence(); // @fence_poll
    }
    __syncthreads();                    // @sync_poll
    v += data[(b - 1) * 64 + (t ^ 33)]; // @read
  }
  data[b * 64 + t] = v; // @write
  __syncthreads();      // @sync_write
  if (t == 0) {
    __threadfence();  // @fence_write
    flags[b] = b + 1; // @flag
  }
  out[b * 64 + t] = v;
}

// A hash table that all threads put keys into: a CAS draws a slot for a key, who has drawn it writes what
// belongs to the key and says so, who finds the key there waits for that. Each then counts itself.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(64)
    hash_insert(const uint32_t* in, uint32_t* keys, uint32_t* ready, uint32_t* values, uint32_t* counts,
                uint32_t* out, int n) {
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    uint32_t key = 1 + in[i] % 23, slot = key * 7 % 32, old, there;
#pragma unroll 1
    for (;; slot = (slot + 1) % 32) {
      CAS("relaxed.gpu.global", old, keys + slot, 0, key); // @claim
      if (old == 0) {
        values[slot] = key * key;                  // @write
        ST("release.gpu.global", ready + slot, 1); // @ready
        break;
      }
      if (old == key)
        break;
    }
    do
      LD("acquire.gpu.global", there, ready + slot); // @wait
    while (there == 0);
    sum += values[slot];                            // @read
    RED_ADD("relaxed.gpu.global", counts + key, 1); // @count
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

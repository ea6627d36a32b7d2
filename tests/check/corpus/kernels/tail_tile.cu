// Sums and a largest word of tiles of 128, the last of them shorter: a bulk copy brings what there is, zeros
// fill the rest. What each CTA has found goes through global memory that nobody has written before to the CTA
// that ends last.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128)
    tail_tile(const uint32_t* in, uint32_t* parts, uint32_t* ticket, uint32_t* out, int n) {
  __shared__ __align__(128) uint32_t tile[128];
  __shared__ uint32_t sums[4], most[4];
  __shared__ __align__(8) uint64_t full;
  __shared__ bool last;
  int t = threadIdx.x, b = blockIdx.x, count = min(128, n - b * 128);
  if (t == 0) {
    MBAR_INIT(SHARED(&full), 1);                                     // @init
    FENCE_MBAR_INIT();                                               // @fence_init
    MBAR_EXPECT(SHARED(&full), count * 4);                           // @expect
    BULK_LOAD(SHARED(tile), in + b * 128, count * 4, SHARED(&full)); // @load
  }
  if (t >= count)
    tile[t] = 0;                                    // @fill
  __syncthreads();                                  // @sync_fill
  MBAR_WAIT(SHARED(&full), 0);                      // @wait
  uint32_t v = tile[t] + tile[(t + 1) % 128] * 3;   // @read
  uint32_t sum = __reduce_add_sync(0xffffffff, v);  // @add
  uint32_t high = __reduce_max_sync(0xffffffff, v); // @max
  if (t % 32 == 0) {
    sums[t / 32] = sum;  // @sum
    most[t / 32] = high; // @most
  }
  __syncthreads(); // @sync_sums
  if (t == 0) {
    parts[b * 2] = sums[0] + sums[1] + sums[2] + sums[3];                 // @part
    parts[b * 2 + 1] = max(max(most[0], most[1]), max(most[2], most[3])); // @part_most
    __threadfence();
    last = atomicAdd(ticket, 1) == gridDim.x - 1; // @ticket
    __threadfence();
  }
  __syncthreads(); // @sync_last
  if (last && t < gridDim.x * 2)
    out[t] = parts[t] * 2; // @result
}

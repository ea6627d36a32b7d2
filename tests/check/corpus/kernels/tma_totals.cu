// Each CTA makes tiles of 8 rows of 32 u32, stores them by TMA where they belong, and adds them to totals by
// a tensor reduction, from two buffers in turns. The CTA that ends last reads the totals.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64)
    tma_totals(const __grid_constant__ TensorMap tiles, const __grid_constant__ TensorMap totals,
               const uint32_t* sums, uint32_t* ticket, uint32_t* out, int rounds) {
  __shared__ __align__(128) uint32_t tile[2][8 * 32];
  __shared__ bool last;
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    int s = i & 1, row = (blockIdx.x * rounds + i) * 8;
    if (t == 0)
      BULK_WAIT_READ(2); // @wait_read
    __syncthreads();     // @sync_free
#pragma unroll
    for (int j = 0; j < 4; ++j)
      tile[s][t + j * 64] = row * 100 + t + j; // @make
    FENCE_PROXY();                             // @fence
    __syncthreads();                           // @sync_made
    if (t == 0) {
      TMA_STORE(&tiles, 0, row, SHARED(tile[s])); // @store
      BULK_COMMIT();                              // @commit_store
      TMA_ADD(&totals, 0, 0, SHARED(tile[s]));    // @add
      BULK_COMMIT();                              // @commit_add
    }
  }
  if (t == 0) {
    BULK_WAIT(0);                                 // @wait
    __threadfence();                              // @fence_added
    last = atomicAdd(ticket, 1) == gridDim.x - 1; // @ticket
    __threadfence();                              // @fence_last
  }
  __syncthreads(); // @sync_last
  if (last)
    out[t] = sums[t] + sums[255 - t]; // @read
}

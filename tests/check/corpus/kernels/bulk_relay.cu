// CTAs pass rows on through global memory: each makes two rows of 64 words in shared memory, stores them with
// bulk copies, waits until they are written, says so in a flag, and reads those of the next CTA.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64)
    bulk_relay(const uint32_t* in, uint32_t* rows, uint32_t* flags, uint32_t* out) {
  __shared__ __align__(128) uint32_t tile[2][64];
  int t = threadIdx.x, next = (blockIdx.x + 1) % gridDim.x;
  uint32_t v = in[blockIdx.x * 64 + t], flag;
  tile[0][t] = v * 3;       // @write_0
  tile[1][63 - t] = v + 17; // @write_1
  FENCE_PROXY();            // @fence
  __syncthreads();          // @sync_write
  if (t == 0) {
    BULK_STORE(rows + blockIdx.x * 128, SHARED(tile[0]), 256);      // @store_0
    BULK_COMMIT();                                                  // @commit_0
    BULK_STORE(rows + blockIdx.x * 128 + 64, SHARED(tile[1]), 256); // @store_1
    BULK_COMMIT();                                                  // @commit_1
    BULK_WAIT(0);                                                   // @wait
    ST_RELEASE(flags + blockIdx.x, 1);                              // @publish
    do {
      LD_ACQUIRE(flag, flags + next); // @poll
    } while (flag == 0);
  }
  __syncthreads();                                                                       // @sync_poll
  uint32_t own = rows[blockIdx.x * 128 + (t ^ 32)];                                      // @read_own
  out[blockIdx.x * 64 + t] = own + rows[next * 128 + t] * 5 + rows[next * 128 + 64 + t]; // @read_0 @read_1
}

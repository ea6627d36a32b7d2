// Counts and sums of 8 groups in one 64-bit word each, by one atomic: the count in the upper half, the sum in
// the lower. In shared memory first, then in global; the last CTA, by a ticket, unpacks them.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(64)
    packed_counts(const uint32_t* in, unsigned long long* packed, uint32_t* tickets, uint32_t* out, int n) {
  __shared__ unsigned long long local[8];
  __shared__ uint32_t ticket;
  int t = threadIdx.x;
  if (t < 8)
    local[t] = 0;  // @clear
  __syncthreads(); // @sync_clear
  for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64)
    atomicAdd(&local[in[i] % 8], (1ull << 32) + in[i] % 100 + 1); // @count
  __syncthreads();                                                // @sync_count
  if (t < 8)
    atomicAdd(&packed[t], local[t]); // @merge
  __syncthreads();                   // @sync_merge
  if (t == 0) {
    __threadfence();                // @fence_ticket
    ticket = atomicAdd(tickets, 1); // @ticket
    __threadfence();                // @fence_last
  }
  __syncthreads(); // @sync_ticket
  if (ticket == gridDim.x - 1 && t < 8) {
    unsigned long long both = atomicAdd(&packed[t], 0ull);   // @unpack
    out[t] = (uint32_t)(both >> 32) * 1000 + (uint32_t)both; // @store
  }
}

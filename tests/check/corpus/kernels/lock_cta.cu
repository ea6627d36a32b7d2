// A lock among the warps of a CTA, in shared memory: lane 0 takes it, the scope is the CTA. It guards a list
// in shared memory, into which each warp puts what it has found.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(128) lock_cta(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t lock, used, list[128], sum[32];
  uint32_t t = threadIdx.x, lane = t % 32, old;
  if (t < 32)
    sum[t] = 0; // @clear
  if (t == 0) {
    lock = 0; // @clear_lock
    used = 0; // @clear_used
  }
  __syncthreads(); // @sync_clear
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    uint32_t v = in[i * 128 + t];
    if (lane == 0)
      do
        CAS_AT("acquire.cta.shared::cta", old, SHARED(&lock), 0, 1); // @take
      while (old != 0);
    __syncwarp();       // @sync_taken
    sum[lane] += v;     // @sum
    uint32_t at = used; // @read_used
    if (lane < 8)
      list[at + lane] = v * 2 + i; // @put
    __syncwarp();                  // @sync_put
    if (lane == 0) {
      used = at + 8;                                      // @write_used
      ST_AT("release.cta.shared::cta", SHARED(&lock), 0); // @give
    }
  }
  __syncthreads();                                 // @sync_end
  out[blockIdx.x * 128 + t] = list[t] + sum[lane]; // @read_all
}

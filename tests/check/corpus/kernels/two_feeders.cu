// Two warps feed two others through mbarriers: one copies words with cp.async, whose completion arrives by
// itself, the other writes words that it computes. Both arrive at one mbarrier for each of three stages.
#include "ops.cuh"

constexpr int stages = 3;

extern "C" __global__ void __launch_bounds__(128) two_feeders(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ uint32_t copied[stages][32], made[stages][32];
  __shared__ __align__(8) uint64_t full[stages], empty[stages];
  int t = threadIdx.x, lane = t % 32;
  if (t < stages) {
    MBAR_INIT(SHARED(&full[t]), 64);  // @init_full
    MBAR_INIT(SHARED(&empty[t]), 64); // @init_empty
  }
  __syncthreads(); // @sync_init
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      int s = i % stages;
      MBAR_WAIT(SHARED(&empty[s]), (i / stages & 1) ^ 1);       // @wait_empty_0
      CP_ASYNC_4(SHARED(&copied[s][lane]), in + i * 32 + lane); // @copy
      CP_ASYNC_ARRIVE(SHARED(&full[s]));                        // @arrive_copied
    }
  } else if (t < 64) {
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      int s = i % stages;
      MBAR_WAIT(SHARED(&empty[s]), (i / stages & 1) ^ 1); // @wait_empty_1
      made[s][lane] = i * 100 + lane;                     // @write
      MBAR_ARRIVE(SHARED(&full[s]));                      // @arrive_made
    }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      int s = i % stages;
      MBAR_WAIT(SHARED(&full[s]), i / stages & 1); // @wait_full
      sum += copied[s][lane ^ 1] * (t + i);        // @read_copied
      sum += made[s][31 - lane];                   // @read_made
      MBAR_ARRIVE(SHARED(&empty[s]));              // @release
    }
    out[t - 64] = sum;
  }
}

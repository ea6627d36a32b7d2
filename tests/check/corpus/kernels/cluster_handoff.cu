// Two CTAs give each other rows of 64 words, some rounds, by bulk copies from shared memory to shared memory.
// Who has read what came, tells the other, which then may make its next row.
#include "ops.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    cluster_handoff(const uint32_t* in, uint32_t* out, int rounds) {
  __shared__ __align__(128) uint32_t outbox[64], inbox[64];
  __shared__ __align__(8) uint64_t came, taken;
  uint32_t rank, t = threadIdx.x, there, bar_there, v = in[blockIdx.x * 64 + threadIdx.x];
  CLUSTER_RANK(rank);
  if (t == 0) {
    MBAR_INIT(SHARED(&came), 1);   // @init_came
    MBAR_INIT(SHARED(&taken), 64); // @init_taken
    FENCE_MBAR_INIT();             // @fence_init
  }
  CLUSTER_ARRIVE(); // @arrive_start
  CLUSTER_WAIT();   // @wait_start
  MAPA(there, SHARED(inbox), rank ^ 1);
  MAPA(bar_there, SHARED(&came), rank ^ 1);
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (i > 0)
      MBAR_WAIT_CLUSTER(SHARED(&taken), (i - 1) & 1); // @wait_taken
    outbox[t] = v + i;                                // @write
    FENCE_PROXY();                                    // @fence
    __syncthreads();                                  // @sync
    if (t == 0) {
      MBAR_EXPECT(SHARED(&came), 256);                        // @expect
      BULK_TO_CLUSTER(there, SHARED(outbox), 256, bar_there); // @send
    }
    MBAR_WAIT_CLUSTER(SHARED(&came), i & 1);  // @wait_came
    v += inbox[63 - t];                       // @read
    FENCE_PROXY();                            // @fence_read
    MBAR_ARRIVE_AT(SHARED(&taken), rank ^ 1); // @tell
  }
  MBAR_WAIT_CLUSTER(SHARED(&taken), (rounds - 1) & 1); // @wait_last
  out[blockIdx.x * 64 + t] = v;
}

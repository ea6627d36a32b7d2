// A warp makes items, another takes them, through a ring of four slots in shared memory and two mbarriers a
// slot. Both mbarriers count 32 arrivals. One CTA of 64 threads; out has 32 words an item. The mbarriers'
// memory serves as a table in the end.
#include "ops.cuh"

constexpr int slots = 4;

extern "C" __global__ void __launch_bounds__(64) ring_generic(const uint32_t* in, uint32_t* out, int items) {
  __shared__ uint32_t ring[slots][32];
  __shared__ __align__(8) uint64_t full[slots], empty[slots];
  int t = threadIdx.x, lane = t % 32;
  if (t < slots) {
    MBAR_INIT(SHARED(&full[t]), 32);  // @init_full
    MBAR_INIT(SHARED(&empty[t]), 32); // @init_empty
  }
  __syncthreads(); // @sync_init
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < items; ++i) {
      int s = i % slots;
      MBAR_WAIT(SHARED(&empty[s]), (i / slots & 1) ^ 1); // @wait_empty
      ring[s][lane] = in[i * 32 + lane] * 3 + i;         // @write
      MBAR_ARRIVE(SHARED(&full[s]));                     // @arrive_full
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < items; ++i) {
      int s = i % slots;
      MBAR_WAIT(SHARED(&full[s]), i / slots & 1); // @wait_full
      uint32_t v = ring[s][31 - lane];            // @read
      MBAR_ARRIVE(SHARED(&empty[s]));             // @arrive_empty
      out[i * 32 + lane] = v;                     // @store
    }
  }
  __syncthreads(); // @sync_end
  if (t < slots) {
    MBAR_INVAL(SHARED(&full[t]));  // @inval_full
    MBAR_INVAL(SHARED(&empty[t])); // @inval_empty
  }
  __syncthreads(); // @sync_inval
  uint32_t* table = (uint32_t*)full;
  if (t < 2 * slots)
    table[t] = in[t]; // @reuse
  __syncthreads();    // @sync_reuse
  if (t < 2 * slots)
    out[items * 32 + t] = table[2 * slots - 1 - t]; // @reuse_read
}

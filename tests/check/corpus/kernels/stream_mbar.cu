// compile_programs: -arch=compute_80
// cp.async with mbarriers in place of groups: 32 threads copy rows of 64 words into two stages, their copies
// arrive at the stage's mbarrier; 32 others wait there and add the rows up.
#include <cstdint>

#define SHARED(p) ((uint32_t)__cvta_generic_to_shared(p))
#define INIT(bar, count) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory")
#define INVAL(bar) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory")
#define ARRIVE(bar)                                                                                          \
  asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(bar)            \
               : "memor"                                                                                     \
                 "y")
#define COPIES_ARRIVE(bar)                                                                                   \
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory")
#define COPY(to, from)                                                                                       \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory")

__device__ inline bool over(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n\t.reg .pred done;\n\tmbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n\tselp.u32 "
               "%0, 1, 0, done;\n\t}"
               : "=r"(done)
               : "r"(bar), "r"(parity)
               : "memory");
  return done;
}

extern "C" __global__ void __launch_bounds__(64) stream_mbar(const uint32_t* in, uint32_t* out, int rows) {
  __shared__ __align__(16) uint32_t stage[2][64];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  __shared__ uint32_t result[64];
  int t = threadIdx.x;
  if (t < 2) {
    INIT(SHARED(&full[t]), 32);  // @init_full
    INIT(SHARED(&empty[t]), 32); // @init_empty
  }
  __syncthreads(); // @sync_init
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      while (!over(SHARED(&empty[s]), (i / 2 & 1) ^ 1)) // @wait_empty
        ;
      COPY(SHARED(&stage[s][t * 2]), in + i * 64 + t * 2); // @copy
      COPIES_ARRIVE(SHARED(&full[s]));                     // @arrive_full
    }
  } else {
    uint32_t sum = 0, other = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) {
      int s = i & 1;
      while (!over(SHARED(&full[s]), i / 2 & 1)) // @wait_full
        ;
      sum += stage[s][t - 32] * (i + 1);   // @read_low
      other += stage[s][95 - t] * (i + 2); // @read_high
      ARRIVE(SHARED(&empty[s]));           // @arrive_empty
    }
    result[t - 32] = sum; // @result_low
    result[t] = other;    // @result_high
  }
  __syncthreads(); // @sync_end
  if (t < 2) {
    INVAL(SHARED(&full[t]));  // @inval_full
    INVAL(SHARED(&empty[t])); // @inval_empty
  }
  __syncthreads(); // @sync_inval
  uint32_t* order = (uint32_t*)full;
  if (t < 4)
    order[t] = result[t * 9];             // @reuse
  __syncthreads();                        // @sync_reuse
  out[t] = result[63 - t] + order[t % 4]; // @store
}

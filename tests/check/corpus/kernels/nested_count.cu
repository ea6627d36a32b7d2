// A number in memory that a loop in a loop counts up, as Triton compiles such a program: all threads load the
// number each time, and have one more; one stores it.
#include "ops.cuh"

#define LD(value, p) asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define ST(p, value) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

extern "C" __global__ void __launch_bounds__(96)
    nested_count(const int* __restrict__ times, uint32_t* number, uint32_t* out, int rounds) {
  int t = threadIdx.x;
  uint32_t more = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 1
    for (int left = times[round]; left > 0; left -= 2) {
      uint32_t now;
      LD(now, number); // @read
      more = now + left;
      if (t == 0)         // @who
        ST(number, more); // @write
    }
  }
  __syncthreads(); // @sync
  uint32_t last;
  LD(last, number);              // @get
  out[t] = t == 0 ? more : last; // @put
}

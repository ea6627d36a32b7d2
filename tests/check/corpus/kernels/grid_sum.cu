// Rounds over a row of cells a CTA: each takes from its neighbours' rows of the round before. A barrier over
// the grid between rounds: one thread a CTA arrives with an atomic that releases, and waits with loads that
// acquire.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(32)
    grid_sum(uint32_t* a, uint32_t* b, uint32_t* arrived, uint32_t* sums, int rounds) {
  int t = threadIdx.x, cta = blockIdx.x, ctas = gridDim.x;
  uint32_t *from = a, *to = b;
#pragma unroll 1
  for (int round = 1; round <= rounds; ++round) {
    uint32_t left = from[(cta + ctas - 1) % ctas * 32 + t]; // @read_left
    uint32_t right = from[(cta + 1) % ctas * 32 + (t ^ 1)]; // @read_right
    to[cta * 32 + t] = left + 3 * right + t;                // @write
    __syncwarp();                                           // @sync_arrive
    if (t == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory"); // @arrive
      uint32_t seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory"); // @wait
      } while (seen < round * ctas);
    }
    __syncwarp(); // @sync_wait
    uint32_t* swap = from;
    from = to;
    to = swap;
  }
  uint32_t v = from[cta * 32 + t];         // @read_own
  v += __shfl_xor_sync(0xffffffff, v, 16); // @exchange
  if (t < 16)
    atomicAdd(&sums[t], v); // @sum
}

// Rounds over a row of cells a CTA, in place: each takes from its neighbour's row, then all meet, then each
// writes, and all meet. The barrier over the grid turns its sense: who arrives last resets the counter with a
// plain store, since all other arrivals precede its own, and lets the others go.
#include <cstdint>

#define MEET()                                                                                               \
  __syncthreads();                                                                                           \
  if (threadIdx.x == 0) {                                                                                    \
    mine ^= 1;                                                                                               \
    __threadfence();                                                                                         \
    if (atomicAdd(arrived, 1) == gridDim.x - 1) {                                                            \
      *arrived = 0;                                                                                          \
      __threadfence();                                                                                       \
      *sense = mine;                                                                                         \
    } else {                                                                                                 \
      while (*sense != mine) {                                                                               \
      }                                                                                                      \
    }                                                                                                        \
    __threadfence();                                                                                         \
  }                                                                                                          \
  __syncthreads()

extern "C" __global__ void __launch_bounds__(64)
    sense_barrier(uint32_t* cells, uint32_t* arrived, volatile uint32_t* sense, int rounds) {
  uint32_t mine = 0, cta = blockIdx.x, t = threadIdx.x;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    uint32_t v = cells[(cta + 1) % gridDim.x * 64 + (t ^ 33)]; // @read
    MEET();                                                    // @read_all
    cells[cta * 64 + t] = v * 3 + t;                           // @write
    __syncthreads();                                           // @sync_arrive
    if (t == 0) {
      mine ^= 1;
      __threadfence();                              // @fence_arrive
      if (atomicAdd(arrived, 1) == gridDim.x - 1) { // @arrive
        *arrived = 0;                               // @reset
        __threadfence();                            // @fence_reset
        *sense = mine;                              // @turn
      } else {
        while (*sense != mine) { // @wait
        }
      }
      __threadfence(); // @fence_go
    }
    __syncthreads(); // @sync_go
  }
}

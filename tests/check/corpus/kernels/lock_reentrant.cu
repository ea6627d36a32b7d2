// A lock that its owner may take again: a word with the owner's number and 1, and how often he has taken it,
// which he alone uses. Whoever sees his own number has it; what others see tells them nothing.
#include "strong.cuh"

#define ENTER(me)                                                                                            \
  LD("relaxed.gpu.global", seen, owner);                                                                     \
  if (seen != me)                                                                                            \
    do                                                                                                       \
      CAS("acquire.gpu.global", seen, owner, 0, me);                                                         \
    while (seen != 0);                                                                                       \
  *depth += 1
#define LEAVE()                                                                                              \
  if (--*depth == 0)                                                                                         \
  ST("release.gpu.global", owner, 0)

extern "C" __global__ void __launch_bounds__(32)
    lock_reentrant(uint32_t* owner, uint32_t* depth, uint32_t* values, int rounds) {
  if (threadIdx.x != 0)
    return;
  uint32_t me = blockIdx.x + 1, seen;
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    ENTER(me);       // @enter
    values[0] += me; // @first
    if (i % 2 == 0) {
      ENTER(me);           // @enter_again
      values[1] += me * 7; // @second
      LEAVE();             // @leave_again
    }
    values[2] += me * i + 1; // @third
    LEAVE();                 // @leave
  }
}

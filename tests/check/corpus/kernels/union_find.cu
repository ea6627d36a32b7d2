// Sets that are joined along edges: every node points to its parent, a root to itself. A CAS makes the higher
// of two roots point to the lower one, and who looks for a root shortens the way, so all accesses to parents
// are relaxed ones of the grid.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    union_find(const uint32_t* edges, uint32_t* parents, uint32_t* joined, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= n)
    return;
  uint32_t a = edges[i] % 48, b = edges[i] / 48 % 48, up, old;
#pragma unroll 1
  for (;;) {
    LD("relaxed.gpu.global", up, parents + a); // @up
    if (up != a) {
      LD("relaxed.gpu.global", old, parents + up); // @up_two
      ST("relaxed.gpu.global", parents + a, old);  // @shorten
      a = old;
      continue;
    }
    LD("relaxed.gpu.global", up, parents + b); // @up_other
    if (up != b) {
      b = up;
      continue;
    }
    if (a == b)
      break;
    uint32_t high = max(a, b), low = min(a, b);
    CAS("relaxed.gpu.global", old, parents + high, high, low); // @join
    if (old == high) {
      RED_ADD("relaxed.gpu.global", joined, 1); // @joined
      break;
    }
  }
}

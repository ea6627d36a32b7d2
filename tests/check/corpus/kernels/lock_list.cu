// A sorted list that all CTAs put numbers into, with a lock for each node: who walks along it takes the next
// node's lock before he gives back that of the one before. Node 0 is the head; nodes are drawn from a
// counter.
#include "strong.cuh"

#define TAKE(p)                                                                                              \
  do                                                                                                         \
    CAS("acquire.gpu.global", old, p, 0, 1);                                                                 \
  while (old != 0)
#define GIVE(p) ST("release.gpu.global", p, 0)

extern "C" __global__ void __launch_bounds__(32)
    lock_list(const uint32_t* in, uint32_t* locks, uint32_t* next, uint32_t* keys, uint32_t* drawn,
              int each) {
  if (threadIdx.x != 0)
    return;
  uint32_t old, node;
#pragma unroll 1
  for (int i = 0; i < each; ++i) {
    uint32_t key = in[blockIdx.x * each + i], at = 0;
    ATOM_ADD("relaxed.gpu.global", node, drawn, 1); // @draw
    keys[++node] = key;                             // @key
    TAKE(locks);                                    // @take_head
#pragma unroll 1
    for (;;) {
      uint32_t after = next[at]; // @follow
      if (after == 0)
        break;
      TAKE(locks + after);      // @take
      if (keys[after] >= key) { // @compare
        GIVE(locks + after);    // @give_back
        break;
      }
      GIVE(locks + at); // @give
      at = after;
    }
    next[node] = next[at]; // @link_new
    next[at] = node;       // @link
    GIVE(locks + at);      // @give_last
  }
}

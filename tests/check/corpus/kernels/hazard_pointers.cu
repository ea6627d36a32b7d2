// Nodes that one CTA replaces and uses again while others read them: a reader says which node he is at and
// looks whether it is still the current one; the writer takes a node off and waits till nobody says that he
// is there. A fence.sc is between what each says and his look at the other. The first new node stays till all
// have read it.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    hazard_pointers(uint32_t* current, uint32_t* hazards, uint32_t* nodes, uint32_t* met, uint32_t* sums,
                    int writes) {
  if (threadIdx.x != 0)
    return;
  uint32_t node, seen, sum = 0;
  if (blockIdx.x == 0) {
    uint32_t free = 1;
#pragma unroll 1
    for (int i = 1; i <= writes; ++i) {
      nodes[free * 2] = i * 3;                              // @write
      nodes[free * 2 + 1] = i * 5;                          // @write_second
      ATOM_EXCH("acq_rel.gpu.global", free, current, free); // @replace
      FENCE("sc.gpu");                                      // @fence_replace
#pragma unroll 1
      for (uint32_t j = 1; j < gridDim.x; ++j)
        do
          LD("acquire.gpu.global", seen, hazards + j); // @scan
        while (seen == free + 1);
      if (i == 1)
        do
          LD("relaxed.gpu.global", seen, met);
        while (seen != gridDim.x - 1);
    }
    return;
  }
  do
    LD("relaxed.gpu.global", seen, current);
  while (seen == 0);
#pragma unroll 1
  for (int i = 0; i < writes; ++i) {
    LD("acquire.gpu.global", node, current);                  // @look
    ST("release.gpu.global", hazards + blockIdx.x, node + 1); // @protect
    FENCE("sc.gpu");                                          // @fence_protect
    LD("acquire.gpu.global", seen, current);                  // @look_again
    if (seen == node)
      sum += nodes[node * 2] + nodes[node * 2 + 1] * 7; // @read
    ST("release.gpu.global", hazards + blockIdx.x, 3);  // @leave
    if (i == 0)
      RED_ADD("relaxed.gpu.global", met, 1);
  }
  sums[blockIdx.x] = sum;
}

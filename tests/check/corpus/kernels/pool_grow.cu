// Jobs that make jobs: a tree whose nodes are taken from a queue in global memory, each of which puts its
// children there. A place in the queue is drawn from a counter, filled and marked; `open` counts jobs that
// are not done, and 0 ends all. Each lane works for itself, and begins when all have come.
#include "strong.cuh"

struct Job {
  uint32_t depth, path;
};

extern "C" __global__ void __launch_bounds__(32)
    pool_grow(Job* jobs, uint32_t* marks, uint32_t* put, uint32_t* taken, uint32_t* open, uint32_t* sum) {
  uint32_t place, marked, left, old;
  if (threadIdx.x >= 2)
    return;
  ATOM_ADD("relaxed.gpu.global", place, taken, 1); // @take
  do
    LD("relaxed.gpu.global", old, taken);
  while (old < gridDim.x * 2);
#pragma unroll 1
  for (;;) {
    LD("acquire.gpu.global", marked, marks + place); // @poll
    if (marked == 0) {
      LD("relaxed.gpu.global", left, open); // @left
      if (left == 0)
        return;
      continue;
    }
    Job job = jobs[place];                                        // @read
    RED_ADD("relaxed.gpu.global", sum, job.path * 3 + job.depth); // @sum
#pragma unroll 1
    for (uint32_t i = 0; i < 2 && job.depth < 3; ++i) {
      RED_ADD("relaxed.gpu.global", open, 1);      // @open
      ATOM_ADD("relaxed.gpu.global", old, put, 1); // @draw
      jobs[old].depth = job.depth + 1;             // @write_depth
      jobs[old].path = job.path * 2 + i;           // @write_path
      ST("release.gpu.global", marks + old, 1);    // @mark
    }
    RED_ADD("relaxed.gpu.global", open, ~0u);        // @close
    ATOM_ADD("relaxed.gpu.global", place, taken, 1); // @take_next
  }
}

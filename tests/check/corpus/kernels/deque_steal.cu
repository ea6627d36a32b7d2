// A deque of jobs, Chase and Lev's: CTA 0 pushes and pops at the bottom, the others steal at the top. The
// last job is whose CAS at the top succeeds. Pop says what it takes before it looks at the top, a thief looks
// at the top before the bottom: a fence.sc is between. Cells are read while they may be overwritten, so they
// are relaxed; what a job is stands in
// plain words. CTA 0 pops nothing till something was stolen.
#include "strong.cuh"

extern "C" __global__ void __launch_bounds__(32)
    deque_steal(uint32_t* top, uint32_t* bottom, uint32_t* cells, uint32_t* jobs, uint32_t* done, int count) {
  if (threadIdx.x != 0)
    return;
  uint32_t t, b = 0, job, old, sum = 0;
  if (blockIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      do
        LD("acquire.gpu.global", t, top); // @room
      while (b - t >= 8);
      jobs[i] = i * 10 + 3;                       // @write_job
      ST("relaxed.gpu.global", cells + b % 8, i); // @put
      FENCE("acq_rel.gpu");                       // @fence_push
      ST("relaxed.gpu.global", bottom, ++b);      // @push
      if (i == 1)
        do
          LD("relaxed.gpu.global", t, top);
        while (t == 0);
      if (i % 3 != 2)
        continue;
      ST("relaxed.gpu.global", bottom, --b); // @claim
      FENCE("sc.gpu");                       // @fence_pop
      LD("relaxed.gpu.global", t, top);      // @look_top
      if ((int)(b - t) < 0) {
        ST("relaxed.gpu.global", bottom, ++b); // @nothing
        continue;
      }
      LD("relaxed.gpu.global", job, cells + b % 8); // @pop
      if (b == t) {
        CAS("acq_rel.gpu.global", old, top, t, t + 1); // @race_for_last
        ST("relaxed.gpu.global", bottom, ++b);         // @empty
        if (old != t)
          continue;
      }
      sum += jobs[job]; // @read_own
    }
    ST("release.gpu.global", done, 1); // @end
  } else {
#pragma unroll 1
    for (;;) {
      uint32_t over;
      LD("acquire.gpu.global", over, done); // @over
      LD("acquire.gpu.global", t, top);     // @look
      FENCE("sc.gpu");                      // @fence_steal
      LD("acquire.gpu.global", b, bottom);  // @look_bottom
      if ((int)(b - t) > 0) {
        LD("relaxed.gpu.global", job, cells + t % 8);  // @peek
        CAS("acq_rel.gpu.global", old, top, t, t + 1); // @steal
        if (old == t)
          sum += jobs[job]; // @read_job
      } else if (over)
        break;
    }
  }
  RED_ADD("relaxed.gpu.global", done + 1, sum); // @total
}

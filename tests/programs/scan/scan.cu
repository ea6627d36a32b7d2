// Inclusive prefix sum over all CTAs in one pass: shuffles in a warp, shared memory between warps, and
// between CTAs a chain of published prefixes. A CTA takes a ticket, so that it waits only for CTAs that have
// started.
__device__ unsigned warp_scan(unsigned v, unsigned lane) {
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    unsigned below = __shfl_up_sync(0xffffffff, v, offset);
    if (lane >= offset)
      v += below;
  }
  return v;
}

// `state` holds the next ticket, then for each CTA a flag and the sum of everything up to its end.
extern "C" __global__ void scan(const unsigned* in, unsigned* out, unsigned* state, unsigned n) {
  __shared__ unsigned warp_total[8], ticket, before;
  unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned *flags = state + 1, *prefixes = state + 1 + gridDim.x;
  if (t == 0)
    ticket = atomicAdd(state, 1u);
  __syncthreads();
  unsigned i = ticket * 256 + t;
  unsigned v = warp_scan(i < n ? in[i] : 0, lane);
  if (lane == 31)
    warp_total[warp] = v;
  __syncthreads();
  if (warp == 0) {
    unsigned total = warp_scan(lane < 8 ? warp_total[lane] : 0, lane);
    if (lane < 8)
      warp_total[lane] = total;
  }
  __syncthreads();
  if (warp > 0)
    v += warp_total[warp - 1];
  if (t == 255) {
    unsigned sum = 0;
    if (ticket > 0) {
      while (((volatile unsigned*)flags)[ticket - 1] == 0) {
      }
      __threadfence();
      sum = ((volatile unsigned*)prefixes)[ticket - 1];
    }
    before = sum;
    ((volatile unsigned*)prefixes)[ticket] = sum + v;
    __threadfence();
    ((volatile unsigned*)flags)[ticket] = 1;
  }
  __syncthreads();
  if (i < n)
    out[i] = before + v;
}

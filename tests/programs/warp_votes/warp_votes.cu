// What the lanes of a warp do together: any, all, ballot, match, redux, every shuffle with widths below 32,
// votes of a CTA with the barrier, active masks, and the special registers that say who a lane is.

extern "C" __global__ void warp_votes(const unsigned* in, unsigned* out, unsigned n) {
  constexpr unsigned all = 0xffffffff;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, row = 0;
  auto put = [&](unsigned v) { out[row++ * n + i] = v; };
  unsigned v = in[i];
  put(__any_sync(all, v == 3));
  put(__all_sync(all, v < 1000));
  put(__ballot_sync(all, v & 1));
  put(__match_any_sync(all, v % 5));
  put(__match_any_sync(all, (unsigned long long)(v % 3) << 40));
  int same;
  put(__match_all_sync(all, v > 2000, &same));
  put(same);
  put(__reduce_add_sync(all, v));
  put(__reduce_min_sync(all, (int)(v - 500)));
  put(__reduce_max_sync(all, v * 2654435761u));
  put(__reduce_and_sync(all, v | 0xff0));
  put(__reduce_or_sync(all, v));
  put(__reduce_xor_sync(all, v));
  put(__shfl_sync(all, v, 9, 8));
  put(__shfl_sync(all, v, lane * 7));
  put(__shfl_up_sync(all, v, 3, 16));
  put(__shfl_down_sync(all, v, 5, 8));
  put(__shfl_xor_sync(all, v, 12, 16));
  put((unsigned)(__shfl_xor_sync(all, (unsigned long long)v << 20, 31) >> 20));

  unsigned part = 0;
  if (lane % 3 == 0) {
    constexpr unsigned thirds = 0x49249249;
    part = __reduce_add_sync(thirds, v) + __popc(__match_any_sync(thirds, v % 2)) * 100000;
  } else if (v & 1) {
    unsigned mask = __activemask(); // which lanes are together is open, but this lane is one of them
    part = mask >> lane & 1;
  }
  put(part);
  put(__syncthreads_count(v & 1));
  put(__syncthreads_or(v == 7) != 0);
  put(__syncthreads_and(v < 900) != 0);

  unsigned lane_id, lt, le, gt, ge, eq;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane_id));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  put(lane_id);
  put(lt ^ le ^ gt);
  put(ge - eq);
}

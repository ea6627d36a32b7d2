// Inclusive scan of 128 numbers a CTA: warps scan with shuffles, warp 0 scans their totals in shared memory
// with two buffers in turns.
#include <cstdint>

extern "C" __global__ void __launch_bounds__(128)
    scan_block(const uint32_t* in, uint32_t* out, uint32_t* totals, int n) {
  __shared__ uint32_t sums[2][4];
  __shared__ uint32_t all[128];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * 128 + t;
  uint32_t v = i < n ? in[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    uint32_t w = __shfl_up_sync(0xffffffff, v, d); // @shuffle
    if (lane >= d)
      v += w;
  }
  if (lane == 31)
    sums[0][warp] = v; // @sum
  __syncthreads();     // @sync_sums
  if (t < 4) {
    for (int d = 1, from = 0; d < 4; d *= 2, from ^= 1) {
      uint32_t s = sums[from][t]; // @read_sum
      if (t >= d)
        s += sums[from][t - d]; // @read_other
      sums[from ^ 1][t] = s;    // @write_sum
      __syncwarp(0xf);          // @sync_warp
    }
  }
  __syncthreads(); // @sync_scanned
  if (warp > 0)
    v += sums[0][warp - 1]; // @read_before
  all[t] = v;               // @all
  __syncthreads();          // @sync_all
  if (i < n)
    out[i] = all[t] + all[127 - t] % 2; // @store
  if (t == 0)
    totals[blockIdx.x] = all[127]; // @total
}

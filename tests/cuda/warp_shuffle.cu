// The four shuffles, with widths of parts of a warp, of 32-bit and 64-bit values.
#include "check.h"

__global__ void shuffle(int* out, double* wide) {
  const int lane = threadIdx.x;
  out[0 * 32 + lane] = __shfl_sync(~0u, lane * 10, 5);
  out[1 * 32 + lane] = __shfl_up_sync(~0u, lane, 3);
  out[2 * 32 + lane] = __shfl_down_sync(~0u, lane, 4, 8);
  out[3 * 32 + lane] = __shfl_xor_sync(~0u, lane, 17);
  out[4 * 32 + lane] = __shfl_sync(~0u, lane, lane + 1, 16);
  if (lane < 16)
    out[5 * 32 + lane] = __shfl_xor_sync(0xffff, lane, 1);
  wide[lane] = __shfl_sync(~0u, lane * 0.125, 31 - lane);
}

int main() {
  DeviceArray<int> out(6 * 32);
  DeviceArray<double> wide(32);
  shuffle<<<1, 32>>>(out.data(), wide.data());
  ok(cudaGetLastError());
  std::vector<int> wanted(6 * 32, 0);
  std::vector<double> wide_wanted(32);
  for (int lane = 0; lane < 32; ++lane) {
    wanted[lane] = 50;
    wanted[32 + lane] = lane >= 3 ? lane - 3 : lane;
    wanted[64 + lane] = lane % 8 + 4 < 8 ? lane + 4 : lane;
    wanted[96 + lane] = lane ^ 17;
    wanted[128 + lane] = lane / 16 * 16 + (lane + 1) % 16;
    if (lane < 16)
      wanted[160 + lane] = lane ^ 1;
    wide_wanted[lane] = (31 - lane) * 0.125;
  }
  equal(wanted, out.host());
  equal(wide_wanted, wide.host());
  return result();
}

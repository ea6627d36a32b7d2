// A cooperative launch: all blocks of the grid wait for each other, many times; too many blocks are refused.
#include "check.h"

#include <cooperative_groups.h>

#include <utility>

namespace cg = cooperative_groups;

__global__ void smooth(int* a, int* b, int count, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    for (int i = grid.thread_rank(); i < count; i += grid.size())
      b[i] = a[(i + count - 1) % count] + a[i] * 2 - a[(i + 1) % count];
    grid.sync();
    int* const other = a;
    a = b;
    b = other;
  }
}

int main() {
  const int count = 3000, rounds = 6;
  auto values = small_numbers<int>(count, -3, 3);
  DeviceArray<int> a(values), b(count);
  int *pa = a.data(), *pb = b.data(), n = count, r = rounds;
  void* arguments[] = {&pa, &pb, &n, &r};
  int cooperative = 0, per_sm = 0, sms = 0;
  ok(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  equal(1, cooperative);
  ok(cudaLaunchCooperativeKernel(smooth, dim3(12), dim3(128), arguments, 0, nullptr));
  ok(cudaDeviceSynchronize());
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> next(count);
    for (int i = 0; i < count; ++i)
      next[i] = values[(i + count - 1) % count] + values[i] * 2 - values[(i + 1) % count];
    values = std::move(next);
  }
  equal(values, a.host());
  ok(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, smooth, 128, 0));
  fails(cudaErrorCooperativeLaunchTooLarge,
        cudaLaunchCooperativeKernel(smooth, dim3(per_sm * sms + 1), dim3(128), arguments, 0, nullptr));
  cudaGetLastError();
  return result();
}

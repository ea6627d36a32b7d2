// A sum by shuffles within the warps, and an atomic addition for each warp.
#include "check.h"

__global__ void reduce(const double* in, double* total, int count) {
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % warpSize == 0)
    atomicAdd(total, sum);
}

int main() {
  const int count = 100000;
  const auto values = small_numbers<double>(count, -1000, 1000);
  DeviceArray<double> in(values), total(1);
  reduce<<<32, 256>>>(in.data(), total.data(), count);
  ok(cudaGetLastError());
  double wanted = 0;
  for (const double value : values)
    wanted += value;
  equal(wanted, total.host()[0]);
  return result();
}

// A sum of two vectors whose length is no multiple of the block.
#include "check.h"

__global__ void add(const float* x, const float* y, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    sum[i] = x[i] + y[i];
}

int main() {
  const int count = 50001;
  const auto x = small_numbers<float>(count, -1000, 1000, 1), y = small_numbers<float>(count, -1000, 1000, 2);
  DeviceArray<float> dx(x), dy(y), sum(count);
  add<<<(count + 255) / 256, 256>>>(dx.data(), dy.data(), sum.data(), count);
  ok(cudaGetLastError());
  std::vector<float> wanted(count);
  for (int i = 0; i < count; ++i)
    wanted[i] = x[i] + y[i];
  equal(wanted, sum.host());
  return result();
}

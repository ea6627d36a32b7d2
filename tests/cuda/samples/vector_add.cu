// 50,000 numbers, added.
#include "../check.h"

__global__ void add(const float* a, const float* b, float* sums, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    sums[i] = a[i] + b[i];
}

int main() {
  const int count = 50000;
  const auto a = small_numbers<float>(count, -1000, 1000, 1), b = small_numbers<float>(count, -1000, 1000, 2);
  DeviceArray<float> da(a), db(b), sums(count);
  add<<<(count + 255) / 256, 256>>>(da.data(), db.data(), sums.data(), count);
  ok(cudaGetLastError());
  std::vector<float> wanted(count);
  for (int i = 0; i < count; ++i)
    wanted[i] = a[i] + b[i];
  equal(wanted, sums.host());
  return result();
}

// A matrix product, a thread an element, with sizes that fit no block.
#include "check.h"

__global__ void multiply(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n)
    return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

int main() {
  const int m = 70, n = 90, k = 50;
  const auto a = small_numbers<float>(m * k, -8, 8, 1), b = small_numbers<float>(k * n, -8, 8, 2);
  DeviceArray<float> da(a), db(b), c(m * n);
  multiply<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(da.data(), db.data(), c.data(), m, n, k);
  ok(cudaGetLastError());
  std::vector<float> wanted(m * n, 0);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < k; ++i)
        wanted[row * n + column] += a[row * k + i] * b[i * n + column];
  equal(wanted, c.host());
  return result();
}

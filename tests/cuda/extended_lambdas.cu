// Kernels that take lambdas, by value and with captures.
// nvcc: --extended-lambda
#include "check.h"

template <class F> __global__ void for_each(int count, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    f(i);
}

template <class F> void parallel(int count, F f) {
  for_each<<<(count + 127) / 128, 128>>>(count, f);
  ok(cudaGetLastError());
}

int main() {
  const int count = 1000;
  DeviceArray<int> a(count), b(count);
  int *pa = a.data(), *pb = b.data(), factor = 7;
  parallel(count, [=] __device__(int i) { pa[i] = i * factor; });
  parallel(count, [=] __host__ __device__(int i) { pb[i] = pa[count - 1 - i] - pa[i]; });
  std::vector<int> wanted(count);
  for (int i = 0; i < count; ++i)
    wanted[i] = (count - 1 - 2 * i) * factor;
  equal(wanted, b.host());
  return result();
}

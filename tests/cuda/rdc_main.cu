// Two files compiled apart: the other one's device functions, variables and kernels.
// nvcc: -rdc=true
// with: rdc_library.cu
#include "check.h"
#include "rdc_library.h"

__global__ void use_library(int* out) {
  out[threadIdx.x] = library_function(threadIdx.x) + library_table[threadIdx.x % 4];
  if (threadIdx.x == 0)
    ++library_calls;
}

int main() {
  DeviceArray<int> out(64);
  use_library<<<1, 64>>>(out.data());
  use_library<<<1, 64>>>(out.data());
  std::vector<int> wanted(64);
  const int table[] = {10, 20, 30, 40};
  for (int i = 0; i < 64; ++i)
    wanted[i] = i * i + 1 + table[i % 4];
  equal(wanted, out.host());
  equal(2, calls_of_library());
  launch_library_kernel(out.data(), 64);
  for (int i = 0; i < 64; ++i)
    wanted[i] = -wanted[i];
  equal(wanted, out.host());
  return result();
}

// A bitonic sort: steps within a block in shared memory, the others each a launch.
#include "check.h"

#include <algorithm>

__device__ void order(unsigned& a, unsigned& b, bool ascending) {
  if ((a > b) == ascending) {
    const unsigned kept = a;
    a = b;
    b = kept;
  }
}
__global__ void far_step(unsigned* data, int size, int distance) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((i & distance) == 0)
    order(data[i], data[i + distance], (i & size) == 0);
}
__global__ void near_steps(unsigned* data, int size, int distance) {
  __shared__ unsigned part[512];
  const int i = blockIdx.x * 512 + threadIdx.x, t = threadIdx.x;
  part[t] = data[i];
  __syncthreads();
  for (; distance > 0; distance /= 2) {
    if ((t & distance) == 0)
      order(part[t], part[t + distance], (i & size) == 0);
    __syncthreads();
  }
  data[i] = part[t];
}

int main() {
  const int count = 4096;
  std::vector<unsigned> values(count);
  Numbers numbers;
  for (unsigned& x : values)
    x = numbers.next();
  DeviceArray<unsigned> data(values);
  for (int size = 2; size <= count; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      if (distance < 512) {
        near_steps<<<count / 512, 512>>>(data.data(), size, distance);
        break;
      }
      far_step<<<count / 512, 512>>>(data.data(), size, distance);
    }
  ok(cudaGetLastError());
  std::sort(values.begin(), values.end());
  equal(values, data.host());
  return result();
}

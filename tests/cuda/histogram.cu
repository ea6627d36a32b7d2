// A histogram: each block counts in shared memory and adds what it has.
#include "check.h"

__global__ void count_values(const unsigned char* data, unsigned* bins, int count) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[data[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

int main() {
  const auto data = small_numbers<unsigned char>(60000, 0, 255);
  std::vector<unsigned> wanted(256, 0);
  for (const unsigned char value : data)
    ++wanted[value];
  DeviceArray<unsigned char> in(data);
  DeviceArray<unsigned> bins(256);
  count_values<<<16, 256>>>(in.data(), bins.data(), static_cast<int>(data.size()));
  ok(cudaGetLastError());
  equal(wanted, bins.host());
  return result();
}

// Atomics of a block's and of the system's scope, on device memory and on the host's.
#include "check.h"

__global__ void count_threads(int* of_block, int* of_device, int* of_system) {
  atomicAdd_block(&of_block[blockIdx.x], 1);
  atomicAdd(of_device, 1);
  atomicAdd_system(of_system, 1);
  atomicMax_system(of_system + 1, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

int main() {
  DeviceArray<int> of_block(8), of_device(1);
  int* of_system = nullptr;
  ok(cudaHostAlloc(&of_system, 2 * sizeof(int), cudaHostAllocMapped));
  of_system[0] = of_system[1] = 0;
  count_threads<<<8, 96>>>(of_block.data(), of_device.data(), of_system);
  ok(cudaDeviceSynchronize());
  equal(std::vector<int>(8, 96), of_block.host());
  equal(8 * 96, of_device.host()[0]);
  equal(8 * 96, of_system[0]);
  equal(8 * 96 - 1, of_system[1]);
  ok(cudaFreeHost(of_system));
  return result();
}

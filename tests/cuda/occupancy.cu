// Occupancy: blocks an SM, a block size to launch with, what shared memory does to it, function attributes.
#include "check.h"

__global__ void __launch_bounds__(256) count_threads(int* total) {
  __shared__ int dummy[1024];
  dummy[threadIdx.x] = threadIdx.x;
  __syncthreads();
  atomicAdd(total, dummy[(threadIdx.x + 1) % blockDim.x] >= 0);
}

int main() {
  cudaFuncAttributes attributes;
  ok(cudaFuncGetAttributes(&attributes, count_threads));
  equal(256, attributes.maxThreadsPerBlock);
  expect(attributes.sharedSizeBytes >= 4096);
  expect(attributes.numRegs > 0 && attributes.numRegs <= 255);
  int blocks = 0, fewer = 0, size = 0, grid = 0;
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count_threads, 256, 0));
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, count_threads, 256, 40000));
  equal(8, blocks); // 2048 threads
  equal(5, fewer);  // 45 KiB of 228
  ok(cudaOccupancyMaxPotentialBlockSize(&grid, &size, count_threads, 0, 0));
  expect(size > 0 && size <= 256 && size % 32 == 0);
  int sms = 0;
  ok(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  expect(grid > 0 && grid % sms == 0);
  size_t dynamic = 0;
  ok(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, count_threads, 2, 256));
  equal(44 * 1024, static_cast<double>(dynamic)); // what a launch may ask for
  DeviceArray<int> total(1);
  count_threads<<<20, size>>>(total.data());
  ok(cudaGetLastError());
  equal(20 * size, total.host()[0]);
  return result();
}

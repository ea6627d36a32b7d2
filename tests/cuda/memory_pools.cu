// Memory in the order of streams: the default pool, one of the program's own, their attributes.
#include "check.h"

__global__ void fill(int* data, int value) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
__global__ void add(int* to, const int* from) {
  to[blockIdx.x * blockDim.x + threadIdx.x] += from[blockIdx.x * blockDim.x + threadIdx.x];
}

int main() {
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  DeviceArray<int> sum(512);
  for (int i = 1; i <= 10; ++i) {
    int* part = nullptr;
    ok(cudaMallocAsync(&part, 512 * sizeof(int), stream));
    fill<<<4, 128, 0, stream>>>(part, i);
    add<<<4, 128, 0, stream>>>(sum.data(), part);
    ok(cudaFreeAsync(part, stream));
  }
  ok(cudaStreamSynchronize(stream));
  equal(std::vector<int>(512, 55), sum.host());

  cudaMemPool_t standard, own;
  ok(cudaDeviceGetDefaultMemPool(&standard, 0));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  ok(cudaMemPoolCreate(&own, &properties));
  uint64_t threshold = ~uint64_t{0}, used = 0;
  ok(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  ok(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
  expect(threshold == ~uint64_t{0});
  int* part = nullptr;
  ok(cudaMallocFromPoolAsync(&part, 1 << 20, own, stream));
  ok(cudaStreamSynchronize(stream));
  ok(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  expect(used >= 1 << 20);
  fill<<<4, 128, 0, stream>>>(part, 45);
  add<<<4, 128, 0, stream>>>(sum.data(), part);
  ok(cudaFreeAsync(part, stream));
  ok(cudaStreamSynchronize(stream));
  ok(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  equal(0, static_cast<double>(used));
  equal(std::vector<int>(512, 100), sum.host());
  ok(cudaMemPoolTrimTo(own, 0));
  ok(cudaMemPoolDestroy(own));
  ok(cudaMemPoolTrimTo(standard, 0));
  ok(cudaStreamDestroy(stream));
  return result();
}

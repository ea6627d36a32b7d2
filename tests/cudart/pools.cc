// Memory in the order of a stream, and pools.
#include "check.h"

int main() {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  int* x = nullptr;
  OK(cudaMallocAsync(reinterpret_cast<void**>(&x), 4096, stream));
  OK(launch(indices, 4, 256, 0, stream, x));
  std::vector<int> back(1024);
  OK(cudaMemcpyAsync(back.data(), x, 4096, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(x, stream));
  OK(cudaStreamSynchronize(stream));
  EQUAL(1023, back[1023]);
  OK(cudaMallocAsync(reinterpret_cast<void**>(&x), 0, stream));
  CHECK(!x);
  OK(cudaFreeAsync(nullptr, stream));

  cudaMemPool_t standard = nullptr, current = nullptr, own = nullptr;
  OK(cudaDeviceGetDefaultMemPool(&standard, 0));
  OK(cudaDeviceGetMemPool(&current, 0));
  CHECK(standard && standard == current);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolCreate(&own, &properties));
  uint64_t threshold = 1 << 20, got = 0;
  OK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &got));
  EQUAL(threshold, got);
  OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&x), 4096, own, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &got));
  CHECK(got >= 4096);
  OK(cudaFreeAsync(x, stream));
  OK(cudaStreamSynchronize(stream));
  cudaMemAccessFlags access = cudaMemAccessFlagsProtNone;
  cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolGetAccess(&access, own, &here));
  EQUAL(cudaMemAccessFlagsProtReadWrite, access);
  const cudaMemAccessDesc description = {here, cudaMemAccessFlagsProtReadWrite};
  OK(cudaMemPoolSetAccess(own, &description, 1));
  OK(cudaMemPoolTrimTo(own, 0));
  OK(cudaDeviceSetMemPool(0, own));
  OK(cudaDeviceGetMemPool(&current, 0));
  CHECK(current == own);
  OK(cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
  CHECK(current == own);
  OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, standard));
  OK(cudaMemGetDefaultMemPool(&current, &here, cudaMemAllocationTypePinned));
  CHECK(current == standard);
  OK(cudaDeviceSetMemPool(0, standard));
  OK(cudaMemPoolDestroy(own));
  OK(cudaStreamDestroy(stream));
  return result();
}

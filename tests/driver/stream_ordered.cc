// Memory that is allocated and freed in the order of a stream.
#include "check.h"

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<int> got(64, 0);
  for (int round = 0; round < 5; ++round) {
    CUdeviceptr x = 0;
    OK(cuMemAllocAsync(&x, 64 * sizeof(int), stream));
    OK(cuMemsetD32Async(x, 1, 64, stream));
    OK(launch(add, 2, 32, stream, x, round, 64));
    OK(cuMemcpyDtoHAsync_v2(got.data(), x, 64 * sizeof(int), stream));
    OK(cuMemFreeAsync(x, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(1 + round, got[63]);
    FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(x, stream)); // it is free
  }
  CUdeviceptr x = 0;
  OK(cuMemAllocAsync(&x, 16, stream));
  OK(cuMemFree_v2(x));                // the other way to free it
  OK(cuMemAllocAsync(&x, 0, stream)); // nothing
  EQUAL(0ull, x);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(nullptr, 16, stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&x, 16, reinterpret_cast<CUstream>(&x)));
  OK(cuMemFreeAsync(0, stream));
  OK(cuMemAllocAsync(&x, 16, stream));
  OK(cuMemFreeAsync(x, stream));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(x, stream));
  OK(cuStreamSynchronize(stream));

  // A thousand buffers of which one is there at a time: the device has room for few of them.
  CUmemoryPool pool = nullptr;
  unsigned long long high = 0;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  size_t before = 0, after = 0, all = 0;
  OK(cuMemGetInfo_v2(&before, &all));
  for (int round = 0; round < 1000; ++round) {
    OK(cuMemAllocAsync(&x, size_t{256} << 20, stream));
    OK(cuMemsetD32Async(x, 1, 64, stream));
    OK(launch(add, 2, 32, stream, x, round, 64));
    OK(cuMemcpyDtoHAsync_v2(got.data(), x, 64 * sizeof(int), stream));
    OK(cuMemFreeAsync(x, stream));
  }
  OK(cuStreamSynchronize(stream));
  EQUAL(1000, got[63]);
  OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  EQUAL(256ull << 20, high);
  OK(cuMemGetInfo_v2(&after, &all));
  if (!on_gpu()) // whose pool may keep some
    EQUAL(before, after);
  return result();
}

// Memory pools and what they count.
#include "check.h"

namespace {

unsigned long long attribute(CUmemoryPool pool, CUmemPool_attribute which) {
  unsigned long long value = 0;
  OK(cuMemPoolGetAttribute(pool, which, &value));
  return value;
}

} // namespace

int main() {
  begin();
  CUmemoryPool standard = nullptr, current = nullptr, own = nullptr;
  OK(cuDeviceGetDefaultMemPool(&standard, 0));
  OK(cuDeviceGetMemPool(&current, 0));
  CHECK(standard == current);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.maxSize = 1 << 20;
  OK(cuMemPoolCreate(&own, &properties));
  OK(cuDeviceSetMemPool(0, own));
  OK(cuDeviceGetMemPool(&current, 0));
  CHECK(current == own);

  CUdeviceptr a = 0, b = 0;
  OK(cuMemAllocAsync(&a, 1000, nullptr));
  const CUdeviceptr first = a;
  EQUAL(1000ull, attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  OK(cuMemAllocFromPoolAsync(&b, 500, standard, nullptr));
  EQUAL(500ull, attribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  CUmemoryPool its = nullptr;
  OK(cuPointerGetAttribute(&its, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
  CHECK(its == own);
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&a, 64 << 20, nullptr));
  OK(cuMemFreeAsync(b, nullptr));
  OK(cuMemFreeAsync(first, nullptr));
  OK(cuCtxSynchronize());
  EQUAL(0ull, attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EQUAL(1000ull, attribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  unsigned long long zero = 0, threshold = 4096;
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  EQUAL(0ull, attribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EQUAL(4096ull, attribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(own, static_cast<CUmemPool_attribute>(77), &zero));
  int reuse = 0;
  OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
  EQUAL(1, reuse);
  OK(cuMemPoolTrimTo(own, 0));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemPoolSetAccess(own, &access, 1));
  CUmemAccess_flags flags{};
  OK(cuMemPoolGetAccess(&flags, own, &access.location));
  EQUAL(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);

  OK(cuMemPoolDestroy(own));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(own));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(standard));
  OK(cuDeviceGetMemPool(&current, 0));
  CHECK(current == standard);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&a, 16, own, nullptr));
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (!on_gpu())
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&own, &properties));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&own, nullptr));
  return result();
}

// Managed memory: one pointer for both sides; advice and prefetches change nothing that a program sees.
#include "check.h"

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  CUdeviceptr address = 0;
  OK(cuMemAllocManaged(&address, 64 * sizeof(int), CU_MEM_ATTACH_GLOBAL));
  int* values = reinterpret_cast<int*>(address);
  for (int i = 0; i < 64; ++i)
    values[i] = i;
  OK(launch(add, 1, 64, nullptr, address, 100, 64));
  OK(cuCtxSynchronize());
  EQUAL(163, values[63]);
  CUdeviceptr none = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&none, 0, CU_MEM_ATTACH_GLOBAL));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&none, 4, CU_MEM_ATTACH_SINGLE));

  CUmemLocation device{}, host{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  host.type = CU_MEM_LOCATION_TYPE_HOST;
  OK(cuMemAdvise_v2(address, 256, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
  OK(cuMemAdvise_v2(address, 256, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  OK(cuMemAdvise(address, 256, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise(address, 256, CU_MEM_ADVISE_SET_ACCESSED_BY, 3));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(address, 257, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(address, 256, static_cast<CUmem_advise>(50), 0));
  OK(cuMemPrefetchAsync_v2(address, 256, device, 0, nullptr));
  OK(cuMemPrefetchAsync_v2(address, 256, host, 0, nullptr));
  OK(cuMemPrefetchAsync(address, 256, 0, nullptr));
  const CUdeviceptr plain = allocate_ints(4);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(plain, 16, 0, nullptr));
  int attribute = 5;
  OK(cuMemRangeGetAttribute(&attribute, sizeof attribute, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 256));
  EQUAL(1, attribute);
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  OK(cuStreamAttachMemAsync(stream, address, 0, CU_MEM_ATTACH_SINGLE));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_SINGLE));
  OK(cuMemFree_v2(address));
  return result();
}

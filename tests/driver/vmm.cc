// Addresses and memory apart: reserved, created, mapped, opened; mapped twice; grown.
#include "check.h"

int main() {
  begin();
  const CUfunction indices = function(load_kernels(), "indices");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t page = 0;
  OK(cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EQUAL(size_t{2} << 20, page);
  CUdeviceptr base = 0, alias = 0;
  OK(cuMemAddressReserve(&base, 4 * page, 0, 0, 0));
  OK(cuMemAddressReserve(&alias, page, 0, 0, 0));
  CHECK(base % page == 0);
  CUmemGenericAllocationHandle first = 0, second = 0, retained = 0;
  OK(cuMemCreate(&first, page, &properties, 0));
  OK(cuMemCreate(&second, page, &properties, 0));
  OK(cuMemMap(base, page, 0, first, 0));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  int value = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&value, base, 4)); // mapped, and not opened
  OK(cuMemSetAccess(base, page, &access, 1));
  unsigned long long flags = 0;
  OK(cuMemGetAccess(&flags, &access.location, base));
  EQUAL(3ull, flags);
  OK(launch(indices, 8, 32, nullptr, base));
  EQUAL(255, read_ints(base, 256)[255]);

  // The same memory at another address.
  OK(cuMemMap(alias, page, 0, first, 0));
  OK(cuMemSetAccess(alias, page, &access, 1));
  EQUAL(255, read_ints(alias, 256)[255]);
  write_ints(alias, {1234});
  EQUAL(1234, read_ints(base, 1)[0]);

  // More behind it: an array that has grown, with what it held.
  OK(cuMemMap(base + page, page, 0, second, 0));
  OK(cuMemSetAccess(base + page, page, &access, 1));
  EQUAL(1234, read_ints(base, 1)[0]);
  const unsigned blocks = static_cast<unsigned>(2 * page / sizeof(int) / 1024);
  OK(launch(indices, blocks, 1024, nullptr, base)); // over the seam
  EQUAL(static_cast<int>(blocks * 1024 - 1), read_ints(base + 2 * page - 4, 1)[0]);
  EQUAL(static_cast<int>(page / 4), read_ints(base + page - 4, 2)[1]); // one copy over it
  CUdeviceptr begin_of = 0;
  size_t bytes = 0;
  OK(cuMemGetAddressRange_v2(&begin_of, &bytes, base + page));
  EQUAL(base + page, begin_of); // of what was mapped at a time
  EQUAL(page, bytes);

  OK(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(base)));
  EQUAL(first, retained);
  CUmemAllocationProp its{};
  OK(cuMemGetAllocationPropertiesFromHandle(&its, retained));
  EQUAL(CU_MEM_ALLOCATION_TYPE_PINNED, its.type);
  OK(cuMemRelease(retained));
  OK(cuMemRelease(first));
  OK(cuMemRelease(second));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(first));
  EQUAL(0, read_ints(base, 1)[0]); // what is mapped stays

  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 4 * page)); // something is mapped
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, page / 2));
  OK(cuMemUnmap(base, 2 * page));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&value, base, 4));
  OK(cuMemUnmap(alias, page));
  OK(cuMemAddressFree(base, 4 * page));
  OK(cuMemAddressFree(alias, page));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(alias, page));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&base, 100, 0, 0, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&first, 100, &properties, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(0x1000, page, 0, first, 0));
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (!on_gpu())
    FAILS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&first, page, &properties, 0));
  return result();
}

// Memory pools, and memory that is created and mapped apart.
#include "record.h"

namespace record {
namespace {

CUmemPoolProps on_device() {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return properties;
}

void pools() {
  begin();
  CUmemoryPool standard = nullptr, current = nullptr, own = nullptr, wrong = nullptr;
  unsigned long long value = 0;
  SAY(cuDeviceGetDefaultMemPool(&standard, 0));
  SAY(cuDeviceGetDefaultMemPool(nullptr, 0));
  SAY(cuDeviceGetDefaultMemPool(&wrong, 1));
  SAY(cuDeviceGetMemPool(&current, 0));
  NOTE(standard == current);
  for (int attribute = 0; attribute < 12; ++attribute) {
    const Turn turn(std::to_string(attribute));
    value = 0;
    SAY_VALUE(value, cuMemPoolGetAttribute(standard, static_cast<CUmemPool_attribute>(attribute), &value));
  }
  CUdeviceptr a = 0, b = 0;
  SAY(cuMemAllocAsync(&a, 1000, nullptr));
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
  SAY(cuMemAllocAsync(&b, 5000, nullptr));
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  SAY(cuMemFreeAsync(b, nullptr));
  SAY(cuCtxSynchronize());
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  SAY_VALUE(value, cuMemPoolGetAttribute(standard, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
  value = 5;
  SAY(cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  value = 0;
  SAY(cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  SAY(cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
  SAY(cuMemPoolSetAttribute(standard, static_cast<CUmemPool_attribute>(77), &value));
  SAY(cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr));
  SAY(cuMemPoolTrimTo(standard, 0));
  SAY(cuMemPoolDestroy(standard));
  SAY(cuMemAllocAsync(&b, 0, nullptr));
  SAY(cuMemAllocAsync(nullptr, 16, nullptr));
  SAY(cuMemAllocAsync(&b, size_t{1} << 45, nullptr));
  SAY(cuMemFreeAsync(0, nullptr));
  SAY(cuMemFreeAsync(a, nullptr));
  SAY(cuMemFreeAsync(a, nullptr));
  SAY(cuMemFreeAsync(device_bytes(64), nullptr));
  SAY(cuMemAllocAsync(&a, 64, nullptr));
  SAY(cuMemFree_v2(a));
  CUmemPoolProps properties = on_device();
  SAY(cuMemPoolCreate(&own, &properties));
  SAY(cuMemPoolCreate(&wrong, nullptr));
  SAY(cuMemPoolCreate(nullptr, &properties));
  properties.maxSize = 1 << 20;
  CUmemoryPool small = nullptr;
  SAY(cuMemPoolCreate(&small, &properties));
  SAY(cuMemAllocFromPoolAsync(&a, 64, small, nullptr));
  SAY(cuMemAllocFromPoolAsync(&b, size_t{64} << 20, small, nullptr));
  properties = on_device();
  properties.location.id = 1;
  SAY(cuMemPoolCreate(&wrong, &properties));
  properties = on_device();
  properties.allocType = static_cast<CUmemAllocationType>(0);
  SAY(cuMemPoolCreate(&wrong, &properties));
  properties = on_device();
  properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  SAY(cuMemPoolCreate(&wrong, &properties));
  SAY(cuDeviceSetMemPool(0, own));
  SAY(cuDeviceGetMemPool(&current, 0));
  NOTE(current == own);
  SAY(cuDeviceSetMemPool(0, nullptr));
  SAY(cuDeviceSetMemPool(1, own));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  SAY(cuMemPoolSetAccess(own, &access, 1));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  SAY(cuMemPoolSetAccess(own, &access, 1));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  SAY(cuMemPoolSetAccess(own, &access, 1));
  CUmemAccess_flags flags{};
  SAY_VALUE(flags, cuMemPoolGetAccess(&flags, own, &access.location));
  SAY(cuMemPoolDestroy(own));
  SAY(cuDeviceGetMemPool(&current, 0));
  NOTE(current == standard);
  SAY(cuMemPoolDestroy(nullptr));
  SAY(cuMemPoolDestroy(own));
  SAY(cuMemAllocFromPoolAsync(&a, 16, own, nullptr));
}

void mapped_memory() {
  begin();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t page = 0;
  SAY_VALUE(page, cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  SAY_VALUE(page, cuMemGetAllocationGranularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  SAY(cuMemGetAllocationGranularity(nullptr, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  SAY(cuMemGetAllocationGranularity(&page, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  page = size_t{2} << 20;
  CUdeviceptr base = 0, wrong = 0;
  CUmemGenericAllocationHandle handle = 0, other = 0;
  SAY(cuMemAddressReserve(&base, 4 * page, 0, 0, 0));
  NOTE(base % page);
  SAY(cuMemAddressReserve(&wrong, 100, 0, 0, 0));
  SAY(cuMemAddressReserve(&wrong, 0, 0, 0, 0));
  SAY(cuMemAddressReserve(&wrong, page, 3, 0, 0));
  SAY(cuMemAddressReserve(&wrong, page, 0, 0, 5));
  SAY(cuMemAddressReserve(nullptr, page, 0, 0, 0));
  SAY(cuMemCreate(&handle, page, &properties, 0));
  SAY(cuMemCreate(&other, 100, &properties, 0));
  SAY(cuMemCreate(&other, 0, &properties, 0));
  SAY(cuMemCreate(&other, page, &properties, 1));
  SAY(cuMemCreate(&other, page, nullptr, 0));
  SAY(cuMemCreate(&other, size_t{1} << 45, &properties, 0));
  SAY(cuMemMap(base, page, 0, handle, 1));
  SAY(cuMemMap(base + 100, page, 0, handle, 0));
  SAY(cuMemMap(base, page, page, handle, 0));
  SAY(cuMemMap(base, 2 * page, 0, handle, 0));
  SAY(cuMemMap(0x10000, page, 0, handle, 0));
  SAY(cuMemMap(base, page, 0, handle, 0));
  SAY(cuMemMap(base, page, 0, handle, 0));
  int value = 0;
  SAY(cuMemcpyDtoH_v2(&value, base, 4));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  unsigned long long flags = 0;
  SAY_VALUE(flags, cuMemGetAccess(&flags, &access.location, base));
  SAY(cuMemSetAccess(base, page, &access, 1));
  SAY_VALUE(flags, cuMemGetAccess(&flags, &access.location, base));
  SAY(cuMemSetAccess(base, page, &access, 0));
  SAY(cuMemSetAccess(base + page, page, &access, 1));
  SAY(cuMemSetAccess(base, 100, &access, 1));
  SAY(cuMemGetAccess(&flags, &access.location, base + page));
  SAY(cuMemcpyDtoH_v2(&value, base, 4));
  SAY(cuMemsetD8_v2(base, 0, page));
  CUmemGenericAllocationHandle same = 0;
  SAY(cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(base + 100)));
  NOTE(same == handle);
  SAY(cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(base + page)));
  CUmemAllocationProp its{};
  SAY_VALUE(its.type, cuMemGetAllocationPropertiesFromHandle(&its, handle));
  SAY(cuMemRelease(handle));
  SAY(cuMemRelease(handle));
  SAY(cuMemRelease(handle));
  SAY(cuMemsetD8_v2(base, 0, page));
  SAY(cuMemFree_v2(base));
  SAY(cuMemAddressFree(base, 4 * page));
  SAY(cuMemUnmap(base, 100));
  SAY(cuMemUnmap(base + page, page));
  SAY(cuMemUnmap(base, page));
  SAY(cuMemUnmap(base, page));
  SAY(cuMemAddressFree(base, page));
  SAY(cuMemAddressFree(base, 4 * page));
  SAY(cuMemAddressFree(base, 4 * page));
}

} // namespace

std::vector<Section> pool_sections() {
  return {{"pools", pools}, {"mapped memory", mapped_memory}};
}

} // namespace record

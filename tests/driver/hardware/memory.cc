// Memory: what is allocated, what is refused; copies and fills; the host's memory; pools and mapped memory.
#include "record.h"

#include <cstring>

namespace record {
namespace {

CUdeviceptr number(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void device_memory() {
  begin();
  CUdeviceptr a = 0, b = 0, base = 0;
  size_t bytes = 0, total = 0, pitch = 0;
  SAY(cuMemAlloc_v2(&a, 1000));
  SAY(cuMemAlloc_v2(&b, 1));
  NOTE(a % 512);
  NOTE(b % 512);
  NOTE((b > a ? b - a : a - b) % 512);
  SAY(cuMemAlloc_v2(&base, 0));
  SAY(cuMemAlloc_v2(nullptr, 16));
  SAY(cuMemAlloc_v2(&base, size_t{1} << 45));
  SAY(cuMemAlloc_v2(&base, ~size_t{0}));
  SAY(cuMemGetInfo_v2(&bytes, nullptr));
  SAY(cuMemGetInfo_v2(nullptr, &total));
  SAY(cuMemGetInfo_v2(nullptr, nullptr));
  SAY_VALUE(bytes, cuMemGetAddressRange_v2(&base, &bytes, a));
  NOTE(base == a);
  SAY_VALUE(bytes, cuMemGetAddressRange_v2(&base, &bytes, a + 999));
  NOTE(base == a);
  SAY(cuMemGetAddressRange_v2(&base, &bytes, a + 1000));
  SAY(cuMemGetAddressRange_v2(nullptr, nullptr, a));
  SAY(cuMemGetAddressRange_v2(nullptr, &bytes, a));
  SAY(cuMemGetAddressRange_v2(&base, &bytes, 0));
  SAY(cuMemGetAddressRange_v2(&base, &bytes, number(&a)));
  SAY(cuMemFree_v2(a + 4));
  SAY(cuMemFree_v2(a));
  SAY(cuMemFree_v2(a));
  SAY(cuMemFree_v2(0));
  SAY(cuMemFree_v2(number(&a)));
  SAY(cuMemFree_v2(b));
  SAY(cuMemGetAddressRange_v2(&base, &bytes, b));
  for (const size_t width : {1, 100, 512, 513, 5000}) {
    const Turn turn("width " + std::to_string(width));
    SAY_VALUE(pitch, cuMemAllocPitch_v2(&a, &pitch, width, 7, 4));
    SAY_VALUE(bytes, cuMemGetAddressRange_v2(&base, &bytes, a));
  }
  SAY_VALUE(pitch, cuMemAllocPitch_v2(&a, &pitch, 100, 7, 8));
  SAY_VALUE(pitch, cuMemAllocPitch_v2(&a, &pitch, 100, 7, 16));
  SAY(cuMemAllocPitch_v2(&a, &pitch, 100, 7, 5));
  SAY(cuMemAllocPitch_v2(&a, &pitch, 100, 7, 0));
  SAY(cuMemAllocPitch_v2(&a, &pitch, 0, 7, 4));
  SAY(cuMemAllocPitch_v2(&a, &pitch, 100, 0, 4));
  SAY(cuMemAllocPitch_v2(&a, nullptr, 100, 7, 4));
  SAY(cuMemAllocPitch_v2(nullptr, &pitch, 100, 7, 4));
}

void copies() {
  begin();
  CUdeviceptr a = device_bytes(4096), b = device_bytes(4096);
  unsigned char host[4096] = {};
  CUstream stream = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuMemcpyHtoD_v2(a, host, 4096));
  SAY(cuMemcpyHtoD_v2(a, host, 0));
  SAY(cuMemcpyHtoD_v2(0, host, 0));
  SAY(cuMemcpyHtoD_v2(0, host, 4));
  SAY(cuMemcpyHtoD_v2(a, nullptr, 4));
  SAY(cuMemcpyHtoD_v2(a, nullptr, 0));
  SAY(cuMemcpyDtoH_v2(nullptr, a, 4));
  SAY(cuMemcpyDtoH_v2(host, a, 4096));
  SAY(cuMemcpyDtoD_v2(b, a, 4096));
  SAY(cuMemcpyDtoD_v2(a + 100, a, 1000));
  SAY(cuMemcpyDtoD_v2(a, a, 1000));
  SAY(cuMemcpy(b, a, 4096));
  SAY(cuMemcpy(number(host), a, 4096));
  SAY(cuMemcpy(number(host), number(host + 2048), 1024));
  SAY(cuMemcpyHtoD_v2(number(host), host + 100, 16));
  SAY(cuMemcpyDtoH_v2(host, number(host + 100), 16));
  SAY(cuMemcpyDtoH_v2(reinterpret_cast<void*>(a), b, 16));
  SAY(cuMemcpyHtoD_v2(a, reinterpret_cast<void*>(b), 16));
  SAY(cuMemcpyDtoD_v2(a, number(host), 16));
  SAY(cuMemcpyHtoDAsync_v2(a, host, 16, nowhere<CUstream_st>()));
  SAY(cuMemcpyHtoDAsync_v2(0, host, 16, stream));
  SAY(cuMemcpyAsync(b, a, 16, stream));
  SAY(cuStreamSynchronize(stream));
  SAY(cuMemcpyDtoD_v2(0, a, 4));
  SAY(cuMemcpyDtoD_v2(a, 0x1000, 4));
  SAY(cuCtxSynchronize());
}

// Copies and fills that go beyond an allocation, which is 2 MiB, so that nothing lies behind it.
void beyond() {
  begin();
  const size_t size = size_t{2} << 20;
  CUdeviceptr a = device_bytes(size);
  std::vector<unsigned char> host(2 * size);
  SAY(cuMemcpyHtoD_v2(a, host.data(), 2 * size));
  SAY(cuMemcpyDtoH_v2(host.data(), a, 2 * size));
  SAY(cuMemcpyDtoH_v2(host.data(), a + size - 2, 4));
  SAY(cuMemsetD8_v2(a, 0, 2 * size));
  SAY(cuMemsetD32_v2(a, 0, size / 4 + 1));
  SAY(cuCtxSynchronize());
  SAY(cuMemFree_v2(a));
  SAY(cuMemcpyDtoH_v2(host.data(), a, 16));
  SAY(cuMemsetD8_v2(a, 0, 16));
  SAY(cuCtxSynchronize());
}

void fills() {
  begin();
  CUdeviceptr a = device_bytes(4096);
  CUstream stream = nullptr;
  unsigned char host[64] = {};
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuMemsetD32_v2(a, 1, 0));
  SAY(cuMemsetD32_v2(0, 1, 0));
  SAY(cuMemsetD32_v2(a + 2, 1, 1));
  SAY(cuMemsetD16_v2(a + 1, 1, 1));
  SAY(cuMemsetD8_v2(0, 1, 1));
  SAY(cuMemsetD8_v2(number(host), 1, 4));
  SAY(cuMemsetD8Async(a, 1, 4, stream));
  SAY(cuMemsetD8Async(a, 1, 4, nowhere<CUstream_st>()));
  SAY(cuMemsetD2D8_v2(a, 64, 1, 32, 4));
  SAY(cuMemsetD2D8_v2(a, 16, 1, 32, 4));
  SAY(cuMemsetD2D8_v2(a, 16, 1, 32, 1));
  SAY(cuMemsetD2D8_v2(a, 0, 1, 32, 1));
  SAY(cuMemsetD2D8_v2(a, 64, 1, 0, 4));
  SAY(cuMemsetD2D8_v2(a, 64, 1, 32, 0));
  SAY(cuMemsetD2D32_v2(a, 62, 1, 4, 2));
  SAY(cuMemsetD2D32_v2(a + 2, 64, 1, 4, 2));
  SAY(cuMemsetD2D16_v2(a, 63, 1, 4, 2));
  SAY(cuStreamSynchronize(stream));
}

void rectangles() {
  begin();
  unsigned char host[4096] = {};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device_bytes(4096);
  copy.dstPitch = 64;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  CUDA_MEMCPY2D other = copy;
  const auto with = [&](auto change) {
    other = copy;
    change(other);
    return cuMemcpy2D_v2(&other);
  };
  SAY(cuMemcpy2D_v2(&copy));
  SAY(cuMemcpy2D_v2(nullptr));
  SAY(with([](auto& c) { c.WidthInBytes = 0; }));
  SAY(with([](auto& c) { c.Height = 0; }));
  SAY(with([](auto& c) { c.srcPitch = 0; }));
  SAY(with([](auto& c) { c.srcPitch = 0, c.Height = 1; }));
  SAY(with([](auto& c) { c.srcPitch = 16; }));
  SAY(with([](auto& c) { c.dstPitch = 16; }));
  SAY(with([](auto& c) { c.dstPitch = 16, c.Height = 1; }));
  SAY(with([](auto& c) { c.dstXInBytes = 40; }));
  SAY(with([](auto& c) { c.dstMemoryType = static_cast<CUmemorytype>(9); }));
  SAY(with([](auto& c) { c.dstMemoryType = static_cast<CUmemorytype>(0); }));
  SAY(with([](auto& c) { c.srcHost = nullptr; }));
  SAY(with([](auto& c) { c.dstDevice = 0; }));
  SAY(with([](auto& c) { c.srcMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = number(c.srcHost); }));
  SAY(with([](auto& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY; }));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = host;
  box.srcPitch = 64;
  box.srcHeight = 4;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = copy.dstDevice;
  box.dstPitch = 64;
  box.dstHeight = 4;
  box.WidthInBytes = 32;
  box.Height = 4;
  box.Depth = 3;
  CUDA_MEMCPY3D another = box;
  const auto with_box = [&](auto change) {
    another = box;
    change(another);
    return cuMemcpy3D_v2(&another);
  };
  SAY(cuMemcpy3D_v2(&box));
  SAY(cuMemcpy3D_v2(nullptr));
  SAY(with_box([](auto& c) { c.Depth = 0; }));
  SAY(with_box([](auto& c) { c.srcHeight = 2; }));
  SAY(with_box([](auto& c) { c.srcHeight = 0; }));
  SAY(with_box([](auto& c) { c.srcHeight = 0, c.Depth = 1; }));
  SAY(with_box([](auto& c) { c.srcPitch = 0; }));
  SAY(with_box([](auto& c) { c.srcLOD = 1; }));
  SAY(with_box([](auto& c) { c.reserved0 = &c; }));
}

void host_memory() {
  begin();
  void *pinned = nullptr, *other = nullptr;
  CUdeviceptr address = 0;
  unsigned flags = 0;
  SAY(cuMemHostAlloc(&pinned, 4096, 0));
  SAY_VALUE(flags, cuMemHostGetFlags(&flags, pinned));
  SAY(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
  NOTE(address == number(pinned));
  SAY(cuMemHostGetDevicePointer_v2(&address, static_cast<char*>(pinned) + 100, 0));
  NOTE(address == number(pinned) + 100);
  SAY(cuMemHostGetDevicePointer_v2(&address, pinned, 1));
  SAY(cuMemHostGetDevicePointer_v2(nullptr, pinned, 0));
  SAY(cuMemHostGetDevicePointer_v2(&address, nullptr, 0));
  SAY(cuMemHostGetDevicePointer_v2(&address, &flags, 0));
  SAY(cuMemFree_v2(number(pinned)));
  SAY(cuMemFreeHost(static_cast<char*>(pinned) + 8));
  SAY(cuMemHostUnregister(pinned));
  SAY(cuMemFreeHost(pinned));
  SAY(cuMemFreeHost(pinned));
  SAY(cuMemFreeHost(nullptr));
  SAY(cuMemFreeHost(&flags));
  SAY(cuMemHostAlloc(&other, 0, 0));
  SAY(cuMemHostAlloc(&other, 100, 64));
  SAY(cuMemHostAlloc(&other, 100, 7));
  SAY_VALUE(flags, cuMemHostGetFlags(&flags, other));
  SAY(cuMemHostAlloc(nullptr, 100, 0));
  SAY(cuMemAllocHost_v2(&other, 100));
  SAY_VALUE(flags, cuMemHostGetFlags(&flags, other));
  SAY(cuMemAllocHost_v2(&other, 0));
  SAY(cuMemHostGetFlags(&flags, &flags));
  SAY(cuMemHostGetFlags(nullptr, other));
}

void registered_memory() {
  begin();
  alignas(4096) static char own[65536];
  CUdeviceptr address = 0;
  unsigned flags = 0;
  void* pinned = nullptr;
  SAY(cuMemHostGetDevicePointer_v2(&address, own, 0));
  SAY(cuMemHostRegister_v2(own, 16384, CU_MEMHOSTREGISTER_DEVICEMAP));
  SAY_VALUE(flags, cuMemHostGetFlags(&flags, own));
  SAY(cuMemHostRegister_v2(own, 16384, 0));
  SAY(cuMemHostRegister_v2(own + 4096, 4096, 0));
  SAY(cuMemHostRegister_v2(own + 8192, 16384, 0));
  SAY(cuMemHostGetDevicePointer_v2(&address, own + 8, 0));
  NOTE(address == number(own) + 8);
  SAY(cuMemHostGetDevicePointer_v2(&address, own + 20000, 0));
  SAY(cuMemFreeHost(own));
  SAY(cuMemHostUnregister(own + 4096));
  SAY(cuMemHostUnregister(own));
  SAY(cuMemHostUnregister(own));
  SAY(cuMemHostUnregister(nullptr));
  SAY(cuMemHostRegister_v2(nullptr, 8, 0));
  SAY(cuMemHostRegister_v2(own, 0, 0));
  SAY(cuMemHostRegister_v2(own, 4096, 64));
  SAY(cuMemHostRegister_v2(own + 40000, 100, 0));
  SAY_VALUE(flags, cuMemHostGetFlags(&flags, own + 40000));
  SAY(cuMemHostRegister_v2(own + 40100, 100, 0));
  SAY(cuMemHostUnregister(own + 40000));
  SAY(cuMemHostRegister_v2(reinterpret_cast<void*>(0x10000), 4096, 0));
  SAY(cuMemHostRegister_v2(own, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
  SAY(cuMemHostUnregister(own));
  SAY(cuMemHostAlloc(&pinned, 4096, 0));
  SAY(cuMemHostRegister_v2(pinned, 4096, 0));
}

void managed_memory() {
  begin();
  CUdeviceptr a = 0, plain = device_bytes(64), wrong = 0;
  SAY(cuMemAllocManaged(&a, 4096, CU_MEM_ATTACH_GLOBAL));
  SAY(cuMemAllocManaged(&wrong, 0, CU_MEM_ATTACH_GLOBAL));
  SAY(cuMemAllocManaged(&wrong, 64, CU_MEM_ATTACH_SINGLE));
  SAY(cuMemAllocManaged(&wrong, 64, 0));
  SAY(cuMemAllocManaged(&wrong, 64, CU_MEM_ATTACH_HOST));
  SAY(cuMemAllocManaged(nullptr, 64, CU_MEM_ATTACH_GLOBAL));
  CUmemLocation there{}, host{};
  there.type = CU_MEM_LOCATION_TYPE_DEVICE;
  host.type = CU_MEM_LOCATION_TYPE_HOST;
  SAY(cuMemAdvise_v2(a, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, there));
  SAY(cuMemAdvise_v2(a, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
  SAY(cuMemAdvise_v2(a, 4096, static_cast<CUmem_advise>(50), there));
  SAY(cuMemAdvise_v2(a, 5000, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
  SAY(cuMemAdvise_v2(a, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
  SAY(cuMemAdvise_v2(plain, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, there));
  SAY(cuMemAdvise(a, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 3));
  SAY(cuMemPrefetchAsync_v2(a, 4096, there, 0, nullptr));
  SAY(cuMemPrefetchAsync_v2(a, 4096, host, 0, nullptr));
  SAY(cuMemPrefetchAsync_v2(a, 0, host, 0, nullptr));
  SAY(cuMemPrefetchAsync_v2(a, 5000, host, 0, nullptr));
  SAY(cuMemPrefetchAsync_v2(plain, 64, host, 0, nullptr));
  SAY(cuMemPrefetchAsync_v2(a, 4096, there, 1, nullptr));
  int value = 9;
  SAY_VALUE(value, cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, a, 4096));
  SAY_VALUE(value, cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, a, 4096));
  SAY_VALUE(value, cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, a, 4096));
  SAY_VALUE(value, cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, a, 4096));
  SAY(cuMemRangeGetAttribute(&value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, a, 4096));
  SAY(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 64));
  SAY(cuMemRangeGetAttribute(nullptr, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, a, 64));
  CUstream stream = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuStreamAttachMemAsync(stream, a, 0, CU_MEM_ATTACH_SINGLE));
  SAY(cuStreamAttachMemAsync(stream, a, 16, CU_MEM_ATTACH_SINGLE));
  SAY(cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_SINGLE));
  SAY(cuStreamAttachMemAsync(nullptr, a, 0, CU_MEM_ATTACH_SINGLE));
  SAY(cuStreamAttachMemAsync(stream, a, 0, 9));
  SAY(cuStreamSynchronize(stream));
  SAY(cuMemFree_v2(a));
  SAY(cuMemFree_v2(a));
}

} // namespace

std::vector<Section> memory_sections() {
  return {{"device memory", device_memory},
          {"copies", copies},
          {"beyond an allocation", beyond},
          {"fills", fills},
          {"rectangles", rectangles},
          {"host memory", host_memory},
          {"registered memory", registered_memory},
          {"managed memory", managed_memory}};
}

} // namespace record

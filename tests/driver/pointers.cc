// What is known of an address.
#include "check.h"

namespace {

template <class T>
T attribute(CUpointer_attribute which, CUdeviceptr address) {
  unsigned long long wide = 0; // a bool takes more than one byte on an H200
  OK(cuPointerGetAttribute(&wide, which, address));
  T value{};
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

CUdeviceptr number(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

} // namespace

int main() {
  const CUcontext context = begin();
  CUdeviceptr device = 0, managed = 0, counter = 0;
  void* pinned = nullptr;
  OK(cuMemAlloc_v2(&device, 100));
  OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemHostAlloc(&pinned, 100, 0));
  EQUAL(unsigned{CU_MEMORYTYPE_DEVICE}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 10));
  EQUAL(unsigned{CU_MEMORYTYPE_DEVICE}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed));
  EQUAL(unsigned{CU_MEMORYTYPE_HOST}, attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, number(pinned)));
  CHECK(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, device) == context);
  EQUAL(device + 10, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device + 10));
  CHECK(attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, number(pinned)) == pinned);
  EQUAL(0u, attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, device));
  EQUAL(1u, attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EQUAL(0, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
  EQUAL(device, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 99));
  EQUAL(size_t{100}, attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, device));
  CHECK(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, device) !=
        attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, managed));
  CHECK(attribute<bool>(CU_POINTER_ATTRIBUTE_MAPPED, device));
  CHECK(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, device) == nullptr);
  unsigned on = 1;
  OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
  EQUAL(1u, attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_CONTEXT, device));

  int own = 0;
  unsigned type = 0;
  void* host = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, number(&own)));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_CONTEXT, device));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(99), device));
  // Several at once: what is not known is nothing, and no error.
  CUpointer_attribute several[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
  int ordinal = 5;
  void* data[] = {&type, &ordinal, &host};
  type = 9;
  OK(cuPointerGetAttributes(3, several, data, number(&own)));
  EQUAL(0u, type);
  EQUAL(-2, ordinal);
  OK(cuPointerGetAttributes(3, several, data, number(pinned)));
  EQUAL(unsigned{CU_MEMORYTYPE_HOST}, type);
  CHECK(host == pinned);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, several, data, device));

  size_t bytes = 0;
  OK(cuModuleGetGlobal_v2(&counter, &bytes, load_kernels(), "counter"));
  EQUAL(counter, attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, counter)); // as Triton asks
  return result();
}

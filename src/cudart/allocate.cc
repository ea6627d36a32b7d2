// Memory: of the device, of the host, managed; what a pointer is.
#include "cudart/api.h"
#include "cudart/call.h"

using namespace lemma::cudart;

cudaError_t cudaMalloc(void** address, size_t bytes) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = nullptr;
    return bytes == 0 ? cudaSuccess : error_of(call(driver, &Driver::cuMemAlloc_v2, address, bytes));
  });
}

cudaError_t cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address || !pitch)
      return cudaErrorInvalidValue;
    *address = nullptr;
    *pitch = 0;
    if (width == 0 || height == 0)
      return cudaSuccess;
    return error_of(call(driver, &Driver::cuMemAllocPitch_v2, address, pitch, width, height, 4u));
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  return recorded([&]() -> cudaError_t {
    size_t rows = 0;
    if (!memory || __builtin_mul_overflow(extent.height, extent.depth, &rows))
      return cudaErrorInvalidValue;
    *memory = {nullptr, 0, extent.width, extent.height};
    return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, rows);
  });
}

// Begins the context even where there is nothing to free.
cudaError_t cudaFree(void* address) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    return address ? error_of(call(driver, &Driver::cuMemFree_v2, address)) : cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** address, size_t bytes) {
  return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = nullptr;
    return bytes == 0 ? cudaSuccess : error_of(driver.cuMemHostAlloc(address, bytes, flags));
  });
}

cudaError_t cudaFreeHost(void* address) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    return address ? error_of(driver.cuMemFreeHost(address)) : cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  return pass(&Driver::cuMemHostRegister_v2, address, bytes, flags);
}
cudaError_t cudaHostUnregister(void* address) {
  return pass(&Driver::cuMemHostUnregister, address);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return pass(&Driver::cuMemHostGetDevicePointer_v2, device, host, flags);
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return pass(&Driver::cuMemHostGetFlags, flags, host);
}

cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = nullptr;
    return bytes == 0 ? cudaSuccess
                      : error_of(call(driver, &Driver::cuMemAllocManaged, address, bytes, flags));
  });
}
cudaError_t cudaMemAdvise(const void* address, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  return pass(&Driver::cuMemAdvise_v2, address, bytes, advice, location);
}
cudaError_t cudaMemPrefetchAsync(const void* address, size_t bytes, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
  return pass(&Driver::cuMemPrefetchAsync_v2, address, bytes, location, flags, stream);
}
cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_bytes, cudaMemRangeAttribute attribute,
                                     const void* address, size_t bytes) {
  return pass(&Driver::cuMemRangeGetAttribute, data, data_bytes, attribute, address, bytes);
}
cudaError_t cudaMemRangeGetAttributes(void** data, size_t* data_bytes, cudaMemRangeAttribute* attributes,
                                      size_t count, const void* address, size_t bytes) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!data || !data_bytes || !attributes || count == 0)
      return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i)
      if (const CUresult status = call(driver, &Driver::cuMemRangeGetAttribute, data[i], data_bytes[i],
                                       attributes[i], address, bytes);
          status != CUDA_SUCCESS)
        return error_of(status);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return pass(&Driver::cuMemGetInfo_v2, free, total);
}

// Of memory that CUDA does not know: the type says so, and it is no error.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!attributes)
      return cudaErrorInvalidValue;
    unsigned type = 0, is_managed = 0;
    int device = cudaInvalidDeviceId;
    CUdeviceptr on_device = 0;
    void* on_host = nullptr;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* answers[] = {&type, &is_managed, &device, &on_device, &on_host};
    if (const CUresult status =
            call(driver, &Driver::cuPointerGetAttributes, 5u, &asked[0], &answers[0], address);
        status != CUDA_SUCCESS)
      return error_of(status);
    *attributes = {};
    attributes->type = is_managed                     ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                      : cudaMemoryTypeUnregistered;
    attributes->device = device;
    attributes->devicePointer = reinterpret_cast<void*>(on_device);
    attributes->hostPointer =
        attributes->type == cudaMemoryTypeUnregistered ? const_cast<void*>(address) : on_host;
    return cudaSuccess;
  });
}

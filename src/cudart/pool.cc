// Pools, and memory that is allocated and freed in the order of a stream.
#include "cudart/api.h"
#include "cudart/call.h"

namespace lemma::cudart {
namespace {

// Pools are the device's: there is none of the host's memory.
bool is_of_device(const cudaMemLocation* location, cudaMemAllocationType type) {
  return location && location->type == cudaMemLocationTypeDevice && type == cudaMemAllocationTypePinned;
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = nullptr;
    return bytes == 0 ? cudaSuccess
                      : error_of(call(driver, &Driver::cuMemAllocAsync, address, bytes, stream));
  });
}
cudaError_t cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!address)
      return cudaErrorInvalidValue;
    *address = nullptr;
    return bytes == 0
               ? cudaSuccess
               : error_of(call(driver, &Driver::cuMemAllocFromPoolAsync, address, bytes, pool, stream));
  });
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    return address ? error_of(call(driver, &Driver::cuMemFreeAsync, address, stream)) : cudaSuccess;
  });
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return pass(&Driver::cuDeviceGetDefaultMemPool, pool, device);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return pass(&Driver::cuDeviceGetMemPool, pool, device);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return pass(&Driver::cuDeviceSetMemPool, device, pool);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return pass(&Driver::cuMemPoolCreate, pool, properties);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return pass(&Driver::cuMemPoolDestroy, pool);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
  return pass(&Driver::cuMemPoolTrimTo, pool, bytes_to_keep);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return pass(&Driver::cuMemPoolGetAttribute, pool, attribute, value);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return pass(&Driver::cuMemPoolSetAttribute, pool, attribute, value);
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return pass(&Driver::cuMemPoolGetAccess, flags, pool, location);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptions, size_t count) {
  return pass(&Driver::cuMemPoolSetAccess, pool, descriptions, count);
}
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return is_of_device(location, type) ? cudaDeviceGetDefaultMemPool(pool, location->id)
                                      : record(location ? cudaErrorNotSupported : cudaErrorInvalidValue);
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return is_of_device(location, type) ? cudaDeviceGetMemPool(pool, location->id)
                                      : record(location ? cudaErrorNotSupported : cudaErrorInvalidValue);
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  return is_of_device(location, type) ? cudaDeviceSetMemPool(location->id, pool)
                                      : record(location ? cudaErrorNotSupported : cudaErrorInvalidValue);
}

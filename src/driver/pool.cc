// Pools and memory that is allocated and freed in the order of a stream.
#include "driver/pool.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "support/align.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

constexpr uint64_t kPoolStepBytes = uint64_t{32} << 20; // in which an H200's pools grow

// Of whichever kind, with what its pool has of it.
void free_memory(CUdeviceptr address) {
  const std::shared_ptr<Allocation> taken = state().memory.take(address, MemoryKind::device);
  if (taken && taken->pool && taken->buffer.address() != 0) // else a stream was told to free it
    taken->pool->give_back(taken->size_bytes);
}

bool is_reuse(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

template <class Body>
CUresult in_pool(CUmemoryPool handle, Body&& body) {
  return initialized([&]() -> CUresult {
    const std::shared_ptr<MemoryPool> pool = state().pools.find(handle);
    return pool ? body(pool) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult allocate(CUdeviceptr* address, size_t bytes, const std::shared_ptr<MemoryPool>& pool,
                  CUstream handle, Context& context) {
  if (!address)
    return CUDA_ERROR_INVALID_VALUE;
  *address = 0;
  std::shared_ptr<Stream> stream;
  if (const CUresult wrong = find_stream(context, handle, stream); wrong != CUDA_SUCCESS)
    return wrong;
  if (bytes == 0) // nothing, and no error
    return CUDA_SUCCESS;
  if (!stream->capture() && Stream::any_captures_strictly(context))
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  AllocateMemory operation;
  operation.pool = pool;
  operation.parameters.bytesize = bytes;
  operation.parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  operation.parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (!stream->capture()) {
    operation.address = address;
    return stream->submit(std::move(operation));
  }
  if (const CUresult status = allocate_for_graph(operation, context); status != CUDA_SUCCESS)
    return status;
  *address = operation.parameters.dptr;
  return stream->submit(std::move(operation));
}

} // namespace

CUresult allocate_for_graph(AllocateMemory& operation, Context& context) {
  const uint64_t bytes = operation.parameters.bytesize;
  if (const CUresult status = operation.pool->take(bytes); status != CUDA_SUCCESS)
    return status;
  const Result<std::shared_ptr<Allocation>, Error> made =
      state().memory.allocate(MemoryKind::device, bytes, context);
  if (!made) {
    operation.pool->give_back(bytes);
    return status_of(made.error());
  }
  (*made)->pool = operation.pool;
  (*made)->of_graph = true;
  operation.parameters.dptr = (*made)->base;
  operation.keeper =
      std::shared_ptr<void>(nullptr, [address = (*made)->base](void*) { free_memory(address); });
  return CUDA_SUCCESS;
}

CUresult enqueue_allocation(const AllocateMemory& operation, const lemma::Stream& queue, Context& context) {
  if (!operation.address) // a graph's: it is there
    return CUDA_SUCCESS;
  const uint64_t bytes = operation.parameters.bytesize;
  if (const CUresult status = operation.pool->take(bytes); status != CUDA_SUCCESS)
    return status;
  const Result<std::shared_ptr<Allocation>, Error> made =
      state().memory.allocate_in_order(bytes, context, operation.pool, queue);
  if (!made) {
    operation.pool->give_back(bytes);
    return status_of(made.error());
  }
  *operation.address = (*made)->base;
  return CUDA_SUCCESS;
}

CUresult enqueue_free(CUdeviceptr address, const lemma::Stream& queue) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  if (!allocation || allocation->base != address || allocation->kind != MemoryKind::device)
    return CUDA_ERROR_INVALID_VALUE;
  if (allocation->of_graph)
    return CUDA_SUCCESS;
  const CUresult status = state().memory.free_in_order(allocation, queue);
  if (status == CUDA_SUCCESS && allocation->pool) // what is allocated behind it may have that
    allocation->pool->give_back(allocation->size_bytes);
  return status;
}

CUresult free_now(CUdeviceptr address) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  if (!allocation || allocation->base != address || allocation->kind != MemoryKind::device)
    return CUDA_ERROR_INVALID_VALUE;
  if (!allocation->of_graph)
    free_memory(address);
  return CUDA_SUCCESS;
}

CUresult MemoryPool::take(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  uint64_t& used = attributes_[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
  if (most_bytes_ && used + bytes > align_up(most_bytes_, kPoolStepBytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  attributes_[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] = used;
  for (const auto& [current, high] :
       {std::pair(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH),
        std::pair(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)})
    attributes_[high] = std::max(attributes_[high], attributes_[current]);
  return CUDA_SUCCESS;
}

void MemoryPool::give_back(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  attributes_[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] -= bytes;
  attributes_[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] -= bytes;
}

CUresult MemoryPool::get(CUmemPool_attribute attribute, void* value) {
  if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute >= kAttributes)
    return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock lock(mutex_);
  std::memcpy(value, &attributes_[attribute], is_reuse(attribute) ? sizeof(int) : sizeof(uint64_t));
  return CUDA_SUCCESS;
}

CUresult MemoryPool::set(CUmemPool_attribute attribute, const void* value) {
  if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute >= kAttributes ||
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t wanted = 0;
  std::memcpy(&wanted, value, is_reuse(attribute) ? sizeof(int) : sizeof(uint64_t));
  const bool is_high =
      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  if (is_high && wanted != 0) // it can only be reset
    return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock lock(mutex_);
  if (is_high)
    wanted = attributes_[attribute - 1];
  attributes_[attribute] = wanted;
  return CUDA_SUCCESS;
}

} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return initialized([&]() -> CUresult {
    if (!pool)
      return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    *pool = state().default_pool->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return initialized([&]() -> CUresult {
    if (!pool)
      return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    *pool = state().current_pool.load()->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>& pool) -> CUresult {
    if (device != 0)
      return CUDA_ERROR_INVALID_VALUE;
    state().current_pool = pool;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return initialized([&]() -> CUresult {
    if (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
      return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type == CU_MEM_LOCATION_TYPE_INVALID ||
        (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties->location.id != 0))
      return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
      return CUDA_ERROR_NOT_SUPPORTED;
    *pool = state().pools.add(std::make_shared<MemoryPool>(false, properties->maxSize))->handle();
    return CUDA_SUCCESS;
  });
}

// What it has handed out stays until it is freed.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>& pool) -> CUresult {
    if (pool->is_default)
      return CUDA_ERROR_INVALID_VALUE;
    if (state().current_pool.load() == pool)
      state().current_pool = state().default_pool;
    state().pools.take(pool.get());
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return in_pool(handle, [](const std::shared_ptr<MemoryPool>&) { return CUDA_SUCCESS; });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    return value ? pool->get(attribute, value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>& pool) {
    return value ? pool->set(attribute, value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* descriptions, size_t count) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>&) -> CUresult {
    if (count && !descriptions)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& description = descriptions[i];
      if (description.location.type != CU_MEM_LOCATION_TYPE_DEVICE || description.location.id != 0)
        return CUDA_ERROR_INVALID_DEVICE;
      if (description.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) // the device's own access cannot be taken
        return CUDA_ERROR_INVALID_DEVICE;
      if (description.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return in_pool(handle, [&](const std::shared_ptr<MemoryPool>&) -> CUresult {
    if (!flags || !location)
      return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return in_context_of(stream, [&](Context& context) {
    return allocate(address, bytes, state().current_pool.load(), stream, context);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool handle, CUstream stream) {
  return in_context_of(stream, [&](Context& context) -> CUresult {
    const std::shared_ptr<MemoryPool> pool = state().pools.find(handle);
    return pool ? allocate(address, bytes, pool, stream, context) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (address == 0)
      return CUDA_SUCCESS;
    if (const std::shared_ptr<Allocation> allocation = state().memory.find(address);
        allocation && !stream.capture() && allocation->is_freed.exchange(true))
      return CUDA_ERROR_INVALID_VALUE; // in the order of a stream: it has only not gone yet
    return stream.submit(FreeMemory{address});
  });
}

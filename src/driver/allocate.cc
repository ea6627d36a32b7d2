// The functions that allocate, register and describe memory.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "support/align.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

CUresult allocate(MemoryKind kind, uint64_t bytes, unsigned flags, Context& context, CUdeviceptr& address) {
  const Result<std::shared_ptr<Allocation>, Error> made = state().memory.allocate(kind, bytes, context);
  if (!made)
    return status_of(made.error());
  (*made)->flags = flags;
  address = (*made)->base;
  return CUDA_SUCCESS;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::align_up;

// --- device memory

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return in_context([&](Context& context) -> CUresult {
    if (!address || bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    return allocate(MemoryKind::device, bytes, 0, context, *address);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned element_bytes) {
  return in_context([&](Context& context) -> CUresult {
    if (!address || !pitch || width_bytes == 0 || height == 0 ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
      return CUDA_ERROR_INVALID_VALUE;
    *pitch = align_up(width_bytes, kPitchBytes);
    return allocate(MemoryKind::device, *pitch * height, 0, context, *address);
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return in_context([&](Context& context) -> CUresult {
    if (address == 0)
      return CUDA_SUCCESS;
    context.synchronize();
    Memory& memory = state().memory;
    const std::shared_ptr<Allocation> allocation = memory.find(address);
    if (!allocation || allocation->base != address ||
        (allocation->kind != MemoryKind::device && allocation->kind != MemoryKind::managed))
      return CUDA_ERROR_INVALID_VALUE;
    if (allocation->kind == MemoryKind::device)
      return free_now(address);
    memory.take(address, allocation->kind);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return in_context([&](Context&) -> CUresult {
    const uint64_t all = state().machine.memory_bytes;
    if (free)
      *free = all - std::min(all, state().memory.allocated_bytes());
    if (total)
      *total = all;
    return free || total ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<Allocation> allocation = state().memory.find(address);
    if (!allocation)
      return address ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (base)
      *base = allocation->base;
    if (bytes)
      *bytes = allocation->size_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
      return CUDA_ERROR_INVALID_VALUE;
    return allocate(MemoryKind::managed, bytes, flags, context, *address);
  });
}

// --- host memory

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    constexpr unsigned kKnown =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!memory || (flags & ~kKnown))
      return CUDA_ERROR_INVALID_VALUE;
    *memory = nullptr;
    if (bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr address = 0;
    const CUresult status =
        allocate(MemoryKind::pinned, bytes, flags | CU_MEMHOSTALLOC_DEVICEMAP, context, address);
    if (status == CUDA_SUCCESS)
      *memory = reinterpret_cast<void*>(address);
    return status;
  });
}

CUresult cuMemAllocHost_v2(void** memory, size_t bytes) {
  return cuMemHostAlloc(memory, bytes, 0);
}

CUresult cuMemFreeHost(void* memory) {
  return in_context([&](Context& context) -> CUresult {
    if (!memory)
      return CUDA_SUCCESS;
    context.synchronize();
    return state().memory.take(reinterpret_cast<uintptr_t>(memory), MemoryKind::pinned)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!memory || bytes == 0 || (flags & ~kKnown))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
      return CUDA_ERROR_NOT_SUPPORTED;
    return state().memory.add_host(MemoryKind::registered, memory, bytes, &context, flags);
  });
}

CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(memory, bytes, flags);
}

CUresult cuMemHostUnregister(void* memory) {
  return in_context([&](Context& context) -> CUresult {
    if (!memory)
      return CUDA_ERROR_INVALID_VALUE;
    context.synchronize();
    return state().memory.take(reinterpret_cast<uintptr_t>(memory), MemoryKind::registered)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned flags) {
  return in_context([&](Context&) -> CUresult {
    if (!address || !memory || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    const CUdeviceptr same = reinterpret_cast<uintptr_t>(memory);
    const std::shared_ptr<Allocation> allocation = state().memory.find(same);
    if (!allocation || (allocation->kind != MemoryKind::pinned && allocation->kind != MemoryKind::registered))
      return CUDA_ERROR_INVALID_VALUE;
    *address = same;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<Allocation> allocation = state().memory.find(reinterpret_cast<uintptr_t>(memory));
    if (!flags || !allocation || allocation->kind != MemoryKind::pinned)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = allocation->flags;
    return CUDA_SUCCESS;
  });
}

// --- managed memory: advice is kept to itself, and everything is where it is needed

namespace {

CUresult check_managed(CUdeviceptr address, size_t bytes) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  return bytes != 0 && allocation && allocation->kind == MemoryKind::managed &&
                 allocation->holds(address, bytes)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

bool is_place(const CUmemLocation& location) {
  switch (location.type) {
  case CU_MEM_LOCATION_TYPE_DEVICE:
    return location.id == 0;
  case CU_MEM_LOCATION_TYPE_HOST:
  case CU_MEM_LOCATION_TYPE_HOST_NUMA:
  case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    return true;
  default:
    return false;
  }
}

CUmemLocation location_of(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

} // namespace

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return in_context([&](Context&) -> CUresult {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
      return CUDA_ERROR_INVALID_VALUE;
    const bool names_place =
        advice > CU_MEM_ADVISE_UNSET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (names_place && !is_place(location))
      return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                          : CUDA_ERROR_INVALID_VALUE;
    return check_managed(address, bytes);
  });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream handle) {
  return in_context([&](Context& context) -> CUresult {
    if (flags != 0 || !is_place(location))
      return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                          : CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (const CUresult wrong = find_stream(context, handle, stream); wrong != CUDA_SUCCESS)
      return wrong;
    return check_managed(address, bytes);
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_bytes, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t bytes) {
  return in_context([&](Context&) -> CUresult {
    if (!data || data_bytes < 4)
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_managed(address, bytes); wrong != CUDA_SUCCESS)
      return wrong;
    const int32_t value = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : CU_DEVICE_INVALID;
    for (size_t i = 0; i + sizeof value <= data_bytes; i += sizeof value)
      std::memcpy(static_cast<char*>(data) + i, &value, sizeof value);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    std::shared_ptr<Stream> stream;
    if (const CUresult wrong = find_stream(context, handle, stream); wrong != CUDA_SUCCESS)
      return wrong;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
      return CUDA_ERROR_INVALID_VALUE;
    return check_managed(address, 1);
  });
}

// The functions that allocate, register and describe memory.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "support/checked_size.h"

#include <sys/mman.h>
#include <unistd.h>

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

// What is not allocated has no address: NVIDIA's driver says so in every case.
void clear(CUdeviceptr* address) {
  if (address)
    *address = 0;
}

// Whether the process has something at all of its pages.
bool is_mapped(const void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory) / page * page;
  const size_t all = reinterpret_cast<uintptr_t>(memory) + bytes - begin;
  return msync(reinterpret_cast<void*>(begin), all, MS_ASYNC) == 0;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::CheckedSize;

// --- device memory

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  clear(address);
  return in_context([&](Context& context) -> CUresult {
    if (!address || bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (Stream::any_captures_strictly(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return allocate(MemoryKind::device, bytes, 0, context, *address);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned element_bytes) {
  clear(address);
  return in_context([&](Context& context) -> CUresult {
    if (!address || !pitch || width_bytes == 0 || height == 0 ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
      return CUDA_ERROR_INVALID_VALUE;
    const CheckedSize row = align_up(CheckedSize(width_bytes), kPitchBytes);
    const std::optional<uint64_t> all = (row * height).value();
    if (!all)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *pitch = *row.value();
    return allocate(MemoryKind::device, *all, 0, context, *address);
  });
}

namespace {

CUresult free_in_context(CUdeviceptr address) {
  return in_context_of(address, [&](Context& context) -> CUresult {
    if (Stream::any_captures_strictly(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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

} // namespace

CUresult cuMemFree_v2(CUdeviceptr address) {
  return initialized([&]() -> CUresult {
    // Without a context too: memory knows its own.
    if (!current_context() && (address == 0 || !state().memory.find(address)))
      return address == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    return free_in_context(address);
  });
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return in_context([&](Context&) -> CUresult {
    const uint64_t all = state().machine.memory_bytes;
    if (free)
      *free = all - std::min(all, state().memory.allocated_bytes());
    if (total)
      *total = all;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<Allocation> allocation = state().memory.find(address);
    if (!allocation)
      return CUDA_ERROR_NOT_FOUND;
    CUdeviceptr begin = allocation->base;
    uint64_t size = allocation->size_bytes;
    if (allocation->kind == MemoryKind::mapped) // several next to each other are one for kernels
      (void)state().address_space.mapping_at(address, begin, size);
    if (base)
      *base = begin;
    if (bytes)
      *bytes = size;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  clear(address);
  return in_context([&](Context& context) -> CUresult {
    if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
      return CUDA_ERROR_INVALID_VALUE;
    if (Stream::any_captures_strictly(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
    if (bytes == 0) // nothing, and no error
      return CUDA_SUCCESS;
    if (Stream::any_captures_strictly(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
  const CUdeviceptr address = reinterpret_cast<uintptr_t>(memory);
  return in_context_of(address, [&](Context& context) -> CUresult {
    if (Stream::any_captures_strictly(context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!memory)
      return CUDA_SUCCESS;
    context.synchronize();
    return state().memory.take(address, MemoryKind::pinned) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return in_context([&](Context& context) -> CUresult {
    constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!memory || bytes == 0 || (flags & ~kKnown) ||
        CheckedSize(reinterpret_cast<uintptr_t>(memory)) + bytes > kHostEnd)
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
      return CUDA_ERROR_NOT_SUPPORTED;
    const std::shared_ptr<Allocation> known = state().memory.find(reinterpret_cast<uintptr_t>(memory));
    if ((known && known->kind != MemoryKind::registered) || !is_mapped(memory, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return state().memory.add_host(MemoryKind::registered, memory, bytes, &context, flags);
  });
}

CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(memory, bytes, flags);
}

namespace {

CUresult unregister_in_context(CUdeviceptr address) {
  return in_context_of(address, [&](Context& context) -> CUresult {
    if (!address)
      return CUDA_ERROR_INVALID_VALUE;
    context.synchronize();
    if (state().memory.take(address, MemoryKind::registered))
      return CUDA_SUCCESS;
    // In the middle of it, or of another kind.
    return state().memory.find(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

} // namespace

CUresult cuMemHostUnregister(void* memory) {
  const CUdeviceptr address = reinterpret_cast<uintptr_t>(memory);
  return initialized([&]() -> CUresult {
    if (!current_context() && address && !state().memory.find(address))
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return unregister_in_context(address);
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
    if (!flags || !allocation ||
        (allocation->kind != MemoryKind::pinned && allocation->kind != MemoryKind::registered))
      return CUDA_ERROR_INVALID_VALUE;
    *flags = allocation->kind == MemoryKind::pinned ? allocation->flags : CU_MEMHOSTALLOC_DEVICEMAP;
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

// As attributes give it: the device's number, or that of the host.
int number_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

// Captures and cannot take this.
bool spoils_capture(const Stream& stream) {
  if (stream.capture())
    stream.capture()->is_invalid = true;
  return stream.capture() != nullptr;
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
    if (const CUresult wrong = check_managed(address, bytes); wrong != CUDA_SUCCESS)
      return wrong;
    Allocation& allocation = *state().memory.find(address);
    if (advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
      allocation.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
    if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION)
      allocation.preferred = number_of(location);
    if (advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
      allocation.preferred = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream handle) {
  return in_context_of(handle, [&](Context& context) -> CUresult {
    if (flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!is_place(location))
      return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                          : CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (const CUresult wrong = find_stream(context, handle, stream); wrong != CUDA_SUCCESS)
      return wrong;
    if (spoils_capture(*stream))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const CUresult wrong = check_managed(address, bytes);
    if (wrong == CUDA_SUCCESS)
      state().memory.find(address)->last_prefetch = number_of(location);
    return wrong;
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_bytes, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t bytes) {
  return in_context([&](Context&) -> CUresult {
    const bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    if (!data || data_bytes < 4 || (!is_list && data_bytes != 4))
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_managed(address, bytes); wrong != CUDA_SUCCESS)
      return wrong;
    const Allocation& allocation = *state().memory.find(address);
    const int32_t value = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY          ? allocation.read_mostly
                          : attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ? allocation.preferred
                          : attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
                              ? allocation.last_prefetch
                              : CU_DEVICE_INVALID;
    for (size_t i = 0; i + sizeof value <= data_bytes; i += sizeof value)
      std::memcpy(static_cast<char*>(data) + i, &value, sizeof value);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (spoils_capture(stream))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
      return CUDA_ERROR_INVALID_VALUE;
    if (flags == CU_MEM_ATTACH_SINGLE && stream.is_legacy_default())
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_managed(address, 1); wrong != CUDA_SUCCESS)
      return wrong;
    const std::shared_ptr<Allocation> whole = state().memory.find(address);
    return whole->base == address && (bytes == 0 || bytes == whole->size_bytes) ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
  });
}

// What is known of an address.
#include "driver/api.h"
#include "driver/call.h"
#include "support/align.h"

#include <cstring>

namespace lemma::driver {
namespace {

// In what sizes an H200 maps memory.
uint64_t mapping_unit(const Allocation& allocation) {
  constexpr uint64_t kHostPageBytes = 4096, kPoolBytes = uint64_t{32} << 20;
  if (allocation.pool)
    return kPoolBytes;
  return allocation.kind == MemoryKind::registered ? kHostPageBytes : kGranularityBytes;
}

template <class T>
CUresult give(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// Of an address in an allocation.
CUresult attribute_of(const Allocation& allocation, CUdeviceptr address, CUpointer_attribute attribute,
                      void* data) {
  const bool of_host = allocation.kind == MemoryKind::pinned || allocation.kind == MemoryKind::registered;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    if (!allocation.context || allocation.pool)
      return give<CUcontext>(data, nullptr);
    return give(data, allocation.context->handle());
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give<unsigned>(data, of_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return give<CUdeviceptr>(data, address);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!allocation.host_sees_it() || allocation.kind == MemoryKind::mapped)
      return CUDA_ERROR_INVALID_VALUE;
    return give(data, reinterpret_cast<void*>(address));
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    return give<unsigned>(data, allocation.sync_memops || allocation.kind == MemoryKind::managed);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    return give<unsigned long long>(data, allocation.id);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return give<unsigned>(data, allocation.kind == MemoryKind::managed ||
                                    allocation.kind == MemoryKind::managed_variable);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give<int>(data, 0);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return give<CUdeviceptr>(data, allocation.base);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return give<size_t>(data, allocation.size_bytes);
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return give<bool>(data, true);
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    return give<unsigned long long>(data, 0);
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return give<unsigned>(data, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return give(data, reinterpret_cast<CUmemoryPool>(allocation.pool.get()));
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    return give<size_t>(data, align_up(allocation.size_bytes, mapping_unit(allocation)));
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    return give<CUdeviceptr>(data, allocation.base);
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    return give<unsigned long long>(data, allocation.id);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    return give<bool>(data, false);
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult get_attribute(CUdeviceptr address, CUpointer_attribute attribute, void* data) {
  const std::shared_ptr<Allocation> allocation = state().memory.find(address);
  if (allocation)
    return attribute_of(*allocation, address, attribute, data);
  return CUDA_ERROR_INVALID_VALUE;
}

// What cuPointerGetAttributes gives where cuPointerGetAttribute has an error: memory of the host's own.
// Its address is that of the host; of memory that the host does not see there is none (`address` is 0).
void give_nothing(CUpointer_attribute attribute, CUdeviceptr address, void* data) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    give<CUdeviceptr>(data, address);
    break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    give<int>(data, -2); // CU_DEVICE_INVALID
    break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    give<unsigned>(data, 0);
    break;
  case CU_POINTER_ATTRIBUTE_MAPPED:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    give<bool>(data, false);
    break;
  default:
    give<uint64_t>(data, 0);
  }
}

bool is_attribute(CUpointer_attribute attribute) {
  return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
         attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

// In a context that a kernel has failed in, too.
CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return initialized([&]() -> CUresult {
    return data && is_attribute(attribute) ? get_attribute(address, attribute, data)
                                           : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  return initialized([&]() -> CUresult {
    if (count == 0 || !attributes || !data)
      return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i] || !is_attribute(attributes[i]))
        return CUDA_ERROR_INVALID_VALUE;
      if (get_attribute(address, attributes[i], data[i]) != CUDA_SUCCESS)
        give_nothing(attributes[i], state().memory.find(address) ? 0 : address, data[i]);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return in_context_of(address, [&](Context&) -> CUresult {
    const std::shared_ptr<Allocation> allocation = state().memory.find(address);
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !allocation)
      return CUDA_ERROR_INVALID_VALUE;
    unsigned on = 0;
    std::memcpy(&on, value, sizeof on);
    allocation->sync_memops = on != 0;
    return CUDA_SUCCESS;
  });
}

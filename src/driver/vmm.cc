// Address ranges by mmap, memory by memfd_create.
#include "driver/vmm.h"

#include "driver/api.h"
#include "driver/call.h"
#include "support/align.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace lemma::driver {
namespace {

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

// The entry whose range holds the address; end: none does.
template <class Map, class Bytes>
auto holder(Map& map, CUdeviceptr address, Bytes bytes_of) {
  auto at = map.upper_bound(address);
  if (at == map.begin())
    return map.end();
  --at;
  return address - at->first < bytes_of(at->second) ? at : map.end();
}

bool is_granular(uint64_t bytes) {
  return bytes != 0 && bytes % kGranularityBytes == 0;
}

} // namespace

PhysicalMemory::~PhysicalMemory() {
  close(file);
}

CUresult AddressSpace::reserve(uint64_t size_bytes, uint64_t align_bytes, CUdeviceptr& address) {
  if (!is_granular(size_bytes) || (align_bytes & (align_bytes - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const uint64_t align = std::max(align_bytes, kGranularityBytes);
  const uint64_t taken = size_bytes + align;
  if (taken < size_bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void* all = mmap(nullptr, taken, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<uintptr_t>(all);
  const uint64_t aligned = align_up(begin, align);
  if (aligned > begin)
    munmap(all, aligned - begin);
  munmap(pointer(aligned + size_bytes), begin + taken - aligned - size_bytes);
  address = aligned;
  const std::scoped_lock lock(mutex_);
  reservations_.emplace(aligned, size_bytes);
  return CUDA_SUCCESS;
}

CUresult AddressSpace::free(CUdeviceptr address, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != size_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  const auto mapping = mappings_.lower_bound(address);
  if (mapping != mappings_.end() && mapping->first < address + size_bytes)
    return CUDA_ERROR_INVALID_VALUE; // something is mapped there
  munmap(pointer(address), size_bytes);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

CUresult AddressSpace::create(uint64_t size_bytes, const CUmemAllocationProp& properties,
                              CUmemGenericAllocationHandle& handle) {
  if (!is_granular(size_bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (size_bytes > state().machine.memory_bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = memfd_create("cuMemCreate", MFD_CLOEXEC);
  if (file < 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto memory = std::make_shared<PhysicalMemory>(file, size_bytes, properties);
  if (ftruncate(file, static_cast<off_t>(size_bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const std::scoped_lock lock(mutex_);
  handle = next_handle_++;
  handles_.emplace(handle, Handle{std::move(memory)});
  return CUDA_SUCCESS;
}

CUresult AddressSpace::retain(CUdeviceptr address, CUmemGenericAllocationHandle& handle) {
  const std::scoped_lock lock(mutex_);
  const auto mapping = holder(mappings_, address, [](const Mapping& each) { return each.size_bytes; });
  if (mapping == mappings_.end())
    return CUDA_ERROR_INVALID_VALUE;
  handle = mapping->second.handle;
  const auto [at, is_new] = handles_.try_emplace(handle, Handle{mapping->second.memory});
  if (!is_new)
    ++at->second.count;
  return CUDA_SUCCESS;
}

CUresult AddressSpace::release(CUmemGenericAllocationHandle handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end())
    return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.count == 0)
    handles_.erase(found);
  return CUDA_SUCCESS;
}

CUresult AddressSpace::properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp& properties) {
  const std::scoped_lock lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end())
    return CUDA_ERROR_INVALID_VALUE;
  properties = found->second.memory->properties;
  return CUDA_SUCCESS;
}

CUresult AddressSpace::map(CUdeviceptr address, uint64_t size_bytes, uint64_t offset,
                           CUmemGenericAllocationHandle handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end() || address % kGranularityBytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  // Memory is mapped as a whole.
  if (offset != 0 || size_bytes != found->second.memory->size_bytes)
    return CUDA_ERROR_NOT_SUPPORTED;
  const auto reservation = holder(reservations_, address, [](uint64_t bytes) { return bytes; });
  if (reservation == reservations_.end() || size_bytes > reservation->second - (address - reservation->first))
    return CUDA_ERROR_INVALID_VALUE;
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first < address + size_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (holder(mappings_, address, [](const Mapping& each) { return each.size_bytes; }) != mappings_.end())
    return CUDA_ERROR_INVALID_VALUE;
  if (mmap(pointer(address), size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           found->second.memory->file, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  mappings_.emplace(address,
                    Mapping{.size_bytes = size_bytes, .memory = found->second.memory, .handle = handle});
  return CUDA_SUCCESS;
}

std::vector<CUdeviceptr> AddressSpace::mappings_in(CUdeviceptr address, uint64_t size_bytes) const {
  std::vector<CUdeviceptr> found;
  CUdeviceptr at = address;
  while (at < address + size_bytes) {
    const auto mapping = mappings_.find(at);
    if (mapping == mappings_.end())
      return {};
    found.push_back(at);
    at += mapping->second.size_bytes;
  }
  return at == address + size_bytes ? found : std::vector<CUdeviceptr>{};
}

CUresult AddressSpace::open_again(CUdeviceptr address) {
  const auto reservation = holder(reservations_, address, [](uint64_t bytes) { return bytes; });
  const CUdeviceptr begin = reservation->first, end = begin + reservation->second;
  std::map<CUdeviceptr, uint64_t> wanted;
  for (auto at = mappings_.lower_bound(begin); at != mappings_.end() && at->first < end; ++at) {
    if (at->second.access != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      continue;
    if (!wanted.empty() && std::prev(wanted.end())->first + std::prev(wanted.end())->second == at->first)
      std::prev(wanted.end())->second += at->second.size_bytes;
    else
      wanted.emplace(at->first, at->second.size_bytes);
  }
  Memory& memory = state().memory;
  for (auto at = opened_.lower_bound(begin); at != opened_.end() && at->first < end;) {
    const auto same = wanted.find(at->first);
    if (same != wanted.end() && same->second == at->second) {
      wanted.erase(same);
      ++at;
    } else {
      memory.take(at->first, MemoryKind::mapped);
      at = opened_.erase(at);
    }
  }
  for (const auto& [base, bytes] : wanted) {
    if (const CUresult status = memory.add_host(MemoryKind::mapped, pointer(base), bytes, nullptr, 0);
        status != CUDA_SUCCESS)
      return status;
    opened_.emplace(base, bytes);
  }
  return CUDA_SUCCESS;
}

CUresult AddressSpace::unmap(CUdeviceptr address, uint64_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  const std::vector<CUdeviceptr> whole = mappings_in(address, size_bytes);
  if (whole.empty()) {
    const auto reservation = holder(reservations_, address, [](uint64_t bytes) { return bytes; });
    const auto next = mappings_.lower_bound(address);
    const bool is_free =
        reservation != reservations_.end() && is_granular(size_bytes) && address % kGranularityBytes == 0 &&
        size_bytes <= reservation->second - (address - reservation->first) &&
        (next == mappings_.end() || next->first >= address + size_bytes) &&
        holder(mappings_, address, [](const Mapping& each) { return each.size_bytes; }) == mappings_.end();
    return is_free ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; // nothing is there to be unmapped
  }
  for (const CUdeviceptr base : whole)
    mappings_.erase(base);
  const CUresult status = open_again(address);
  mmap(pointer(address), size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  return status;
}

// Reading alone is as good as nothing here: kernels of a virtual GPU would write all the same.
CUresult AddressSpace::set_access(CUdeviceptr address, uint64_t size_bytes, CUmemAccess_flags flags) {
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
    return CUDA_ERROR_NOT_SUPPORTED;
  const std::scoped_lock lock(mutex_);
  const std::vector<CUdeviceptr> whole = mappings_in(address, size_bytes);
  if (whole.empty())
    return CUDA_ERROR_INVALID_VALUE;
  for (const CUdeviceptr base : whole)
    mappings_[base].access = flags;
  return open_again(address);
}

bool AddressSpace::mapping_at(CUdeviceptr address, CUdeviceptr& base, uint64_t& size_bytes) {
  const std::scoped_lock lock(mutex_);
  const auto mapping = holder(mappings_, address, [](const Mapping& each) { return each.size_bytes; });
  if (mapping == mappings_.end())
    return false;
  base = mapping->first;
  size_bytes = mapping->second.size_bytes;
  return true;
}

CUresult AddressSpace::access_of(CUdeviceptr address, CUmemAccess_flags& flags) {
  const std::scoped_lock lock(mutex_);
  const auto mapping = holder(mappings_, address, [](const Mapping& each) { return each.size_bytes; });
  if (mapping == mappings_.end())
    return CUDA_ERROR_INVALID_VALUE;
  flags = mapping->second.access;
  return CUDA_SUCCESS;
}

namespace {

CUresult check_properties(const CUmemAllocationProp* properties) {
  if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;
  return properties->location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags flags) {
  return initialized([&]() -> CUresult {
    if (!bytes || flags > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult wrong = check_properties(properties);
    if (wrong == CUDA_SUCCESS)
      *bytes = kGranularityBytes;
    return wrong;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t align, CUdeviceptr,
                             unsigned long long flags) {
  return initialized([&]() -> CUresult {
    if (!address || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return state().address_space.reserve(bytes, align, *address);
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return initialized([&]() { return state().address_space.free(address, bytes); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  return initialized([&]() -> CUresult {
    if (!handle || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult wrong = check_properties(properties);
    return wrong == CUDA_SUCCESS ? state().address_space.create(bytes, *properties, *handle) : wrong;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return initialized([&]() { return state().address_space.release(handle); });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return initialized([&]() -> CUresult {
    return handle ? state().address_space.retain(reinterpret_cast<uintptr_t>(address), *handle)
                  : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return initialized([&]() -> CUresult {
    return properties ? state().address_space.properties_of(handle, *properties) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return initialized([&]() -> CUresult {
    return flags == 0 ? state().address_space.map(address, bytes, offset, handle) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return initialized([&]() { return state().address_space.unmap(address, bytes); });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptions,
                        size_t count) {
  return initialized([&]() -> CUresult {
    if (!descriptions || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemLocation& location = descriptions[i].location;
      if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || location.id != 0)
        return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                            : CUDA_ERROR_NOT_SUPPORTED;
      if (const CUresult status = state().address_space.set_access(address, bytes, descriptions[i].flags);
          status != CUDA_SUCCESS)
        return status;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return initialized([&]() -> CUresult {
    if (!flags || !location)
      return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    const CUresult status = state().address_space.access_of(address, access);
    if (status == CUDA_SUCCESS)
      *flags = access;
    return status;
  });
}

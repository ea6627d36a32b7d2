// Virtual memory management: ranges of addresses, memory without an address, and what is mapped where.
//
// A range is a part of the host's address space that nothing is in; memory is a file without a name; a
// mapping lays pages of the one over the other, several over the same pages if the program says so. Kernels
// may use what cuMemSetAccess has opened, and as one allocation where opened mappings touch.
//
// Tests: tests/driver/vmm.cc.
#pragma once

#include "driver/types.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lemma::driver {

// What cuMemCreate makes.
struct PhysicalMemory {
  PhysicalMemory(int file, uint64_t size_bytes, const CUmemAllocationProp& properties)
      : file(file), size_bytes(size_bytes), properties(properties) {}
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;

  const int file;
  const uint64_t size_bytes;
  const CUmemAllocationProp properties;
};

class AddressSpace {
public:
  CUresult reserve(uint64_t size_bytes, uint64_t align_bytes, CUdeviceptr& address);
  CUresult free(CUdeviceptr address, uint64_t size_bytes);
  CUresult create(uint64_t size_bytes, const CUmemAllocationProp& properties,
                  CUmemGenericAllocationHandle& handle);
  // One more handle to it, which has to be released too.
  CUresult retain(CUdeviceptr address, CUmemGenericAllocationHandle& handle);
  // What is mapped stays.
  CUresult release(CUmemGenericAllocationHandle handle);
  CUresult properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp& properties);
  CUresult map(CUdeviceptr address, uint64_t size_bytes, uint64_t offset,
               CUmemGenericAllocationHandle handle);
  // Whole mappings.
  CUresult unmap(CUdeviceptr address, uint64_t size_bytes);
  CUresult set_access(CUdeviceptr address, uint64_t size_bytes, CUmemAccess_flags flags);
  // What was mapped there at a time. False: nothing is.
  bool mapping_at(CUdeviceptr address, CUdeviceptr& base, uint64_t& size_bytes);
  CUresult access_of(CUdeviceptr address, CUmemAccess_flags& flags);

private:
  struct Mapping {
    uint64_t size_bytes = 0;
    std::shared_ptr<PhysicalMemory> memory;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  };
  struct Handle {
    std::shared_ptr<PhysicalMemory> memory;
    uint64_t count = 1; // to be released
  };
  // The mappings that the range is made of; empty: it is not made of whole ones.
  std::vector<CUdeviceptr> mappings_in(CUdeviceptr address, uint64_t size_bytes) const;
  // The opened mappings of the reservation that holds the address, as allocations.
  CUresult open_again(CUdeviceptr address);

  std::mutex mutex_;
  std::map<CUdeviceptr, uint64_t> reservations_; // bytes
  std::map<CUdeviceptr, Mapping> mappings_;
  std::map<CUdeviceptr, uint64_t> opened_; // known to Memory: bytes
  std::map<CUmemGenericAllocationHandle, Handle> handles_;
  CUmemGenericAllocationHandle next_handle_ = 1;
};

} // namespace lemma::driver

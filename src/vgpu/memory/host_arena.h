// Memory whose address the host and the kernels share, out of a range of the process's addresses that is kept
// for it, with a gap behind each part: an access past the end, or after it was given back and before the
// address is used again, meets nothing: a fault of the kernel's, and of the host's program too.
//
// Tests: tests/unit/vgpu/memory_test.cc.
#pragma once

#include "vgpu/memory/address_allocator.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lemma::vgpu {

class HostArena {
public:
  // Addresses for at least one allocation of so many bytes; null: the process has none left.
  static std::unique_ptr<HostArena> reserve(uint64_t size_bytes);
  ~HostArena();
  HostArena(const HostArena&) = delete;

  // Zeroed memory at the begin of a page. Null: the range is used up, or the host has no memory left.
  std::byte* take(uint64_t size_bytes);
  // The bytes go back to the host; the address stays used.
  static void give_back(std::byte* memory, uint64_t size_bytes);
  // It may be used again.
  void forget(uint64_t base, uint64_t size_bytes);

  AddressAllocator& addresses() { return addresses_; } // for put() and remove()
  const AddressAllocator& addresses() const { return addresses_; }

private:
  HostArena(uint64_t begin, uint64_t bytes);
  const uint64_t begin_, bytes_;
  AddressAllocator addresses_;
};

} // namespace lemma::vgpu

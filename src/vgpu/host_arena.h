// Memory whose address the host and the kernels share, out of a range of the process's addresses that is kept
// for it: each address is given out once, with a gap behind it, so that an access past the end, or after it
// was given back, meets nothing: a fault of the kernel's, and of the host's program too.
//
// Tests: tests/unit/vgpu/memory_test.cc.
#pragma once

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

  bool holds(uint64_t address) const { return address - begin_ < bytes_; }

  // Zeroed memory at ascending addresses, each the begin of a page. Null: the range is used up, or the host
  // has no memory left.
  std::byte* take(uint64_t size_bytes);
  // The bytes go back to the host, the address stays used.
  static void give_back(std::byte* memory, uint64_t size_bytes);

private:
  HostArena(uint64_t begin, uint64_t bytes) : begin_(begin), bytes_(bytes), next_(begin) {}
  const uint64_t begin_, bytes_;
  uint64_t next_;
};

} // namespace lemma::vgpu

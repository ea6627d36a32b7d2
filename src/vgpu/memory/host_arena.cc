// One private mapping without access, of which pages are made accessible. Two areas of the kernel's for each
// allocation that lives, of the 65530 that a process may have.
#include "vgpu/memory/host_arena.h"

#include "support/align.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kUsualBytes = uint64_t{64} << 30; // of addresses, not of memory

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* no_access(uint64_t bytes) {
  return mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

} // namespace

std::unique_ptr<HostArena> HostArena::reserve(uint64_t size_bytes) {
  const uint64_t least = align_up(size_bytes, page_bytes()) + AddressAllocator::kGapBytes;
  if (least < size_bytes)
    return nullptr;
  // A process whose addresses are limited (ulimit -v) may not have the usual range.
  for (const uint64_t bytes : {std::max(least, kUsualBytes), least})
    if (void* begin = no_access(bytes); begin != MAP_FAILED)
      return std::unique_ptr<HostArena>(new HostArena(reinterpret_cast<uintptr_t>(begin), bytes));
  return nullptr;
}

HostArena::HostArena(uint64_t begin, uint64_t bytes)
    : begin_(begin), bytes_(bytes), addresses_(begin, begin + bytes, page_bytes()) {}

HostArena::~HostArena() {
  munmap(reinterpret_cast<void*>(begin_), bytes_);
}

std::byte* HostArena::take(uint64_t size_bytes) {
  size_bytes = std::max<uint64_t>(size_bytes, 1);
  const uint64_t base = addresses_.take(size_bytes);
  if (base == 0)
    return nullptr;
  void* memory = reinterpret_cast<void*>(base);
  const uint64_t pages = align_up(size_bytes, page_bytes());
  if (mprotect(memory, pages, PROT_READ | PROT_WRITE) != 0) {
    addresses_.give_back(base, size_bytes);
    return nullptr;
  }
  return static_cast<std::byte*>(memory);
}

void HostArena::forget(uint64_t base, uint64_t size_bytes) {
  addresses_.give_back(base, std::max<uint64_t>(size_bytes, 1));
}

void HostArena::give_back(std::byte* memory, uint64_t size_bytes) {
  const uint64_t pages = align_up(std::max<uint64_t>(size_bytes, 1), page_bytes());
  madvise(memory, pages, MADV_DONTNEED);
  mprotect(memory, pages, PROT_NONE);
}

} // namespace lemma::vgpu

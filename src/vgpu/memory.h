// Device memory of the virtual GPU: allocations with bounds, and where each state space lies in the generic
// address space.
//
//   generic address                         state space
//   0x0000'0100'0000'0000 + (0 .. 2^24)     shared::cta window (kSharedWindow + shared address)
//   0x0000'0200'0000'0000 + (0 .. 2^24)     local window, the same for every lane (kLocalWindow + local
//   address) 0x0000'0300'0000'0000 + (0 .. 2^16)     kernel parameters (cvta.param) 0x0000'7f00'0000'0000 and
//   up            global and const: one range an allocation, guard gaps between
//
// Addresses are the same in every run, so that a program that prints or hashes a pointer repeats.
// Allocation is thread-safe; find() is lock-free against a table that grows only between launches or under
// device malloc.
//
// Tests: tests/unit/vgpu/memory_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lemma::vgpu {

inline constexpr uint64_t kWindowBytes = uint64_t{1} << 24;
inline constexpr uint64_t kSharedWindow = 0x0000'0100'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x0000'0200'0000'0000;
inline constexpr uint64_t kParamWindow = 0x0000'0300'0000'0000;
inline constexpr uint64_t kGlobalBase = 0x0000'7f00'0000'0000;

// The first byte a kernel may use of its shared memory: sm_90 keeps 1 KiB at its start for the system.
inline constexpr uint32_t kSharedReservedBytes = 1024;

// One bit a byte: set once the byte was written. Bits are set with relaxed atomics: lost order is harmless,
// lost bits are not.
class InitMap {
public:
  explicit InitMap(uint64_t bytes) : words_((bytes + 63) / 64) {}
  void set(uint64_t offset, uint64_t bytes);
  bool all_set(uint64_t offset, uint64_t bytes) const;

private:
  std::vector<std::atomic<uint64_t>> words_;
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size_bytes = 0;
  std::byte* host = nullptr;
  std::string name;       // "arg 2 (buf)", ".global table", "device malloc"
  bool read_only = false; // .const
  bool freed = false;
  std::unique_ptr<InitMap> init; // null: counts as written (in, out, inout, module variables)
  std::unique_ptr<std::byte[]> storage;

  bool holds(uint64_t address, uint64_t bytes) const {
    return address - base < size_bytes && bytes <= size_bytes - (address - base);
  }
};

class GlobalMemory {
public:
  GlobalMemory();
  ~GlobalMemory();

  // Zeroed memory, aligned to 256 bytes, never adjacent to another allocation. `poisoned`: reads before the
  // first write are reported, and the bytes are 0xCB so that they show. Returns null if the host has no
  // memory left.
  Allocation* allocate(uint64_t size_bytes, std::string name, bool poisoned = false);
  // False if `base` is not the base of a live allocation.
  bool free(uint64_t base);

  // The live allocation that holds the address, or null.
  Allocation* find(uint64_t address) const;
  // For messages: the allocation (freed ones too) whose range is nearest.
  const Allocation* nearest(uint64_t address) const;

private:
  struct Table;
  std::atomic<const Table*> table_;
  std::vector<std::unique_ptr<const Table>> tables_; // old ones are kept: a reader may still look at one
  std::vector<std::unique_ptr<Allocation>> allocations_;
  uint64_t next_ = kGlobalBase;
  mutable std::mutex mutex_;
};

} // namespace lemma::vgpu

// The software TLB: where extents of device memory lie on the host. A worker of a launch keeps the last few,
// and looks an allocation up again only where these do not answer.
//
// Why an access by an entry is safe, in any thread and without a lock; every quick path relies on it:
//
//  1. holds() is exact to the byte, of addresses and sizes that wrap too: an extent ends below 2^64, its
//     bytes are what the program has asked for, and between two allocations there is room.
//  2. The memory is live. Freeing or unregistering it marks the allocation as freed and raises the memory's
//     generation then; GlobalMemory::translate() reads the generation first and looks up after that. So an
//     entry whose generation is the memory's was live at least until the generation was compared, and a free
//     that happens before an access is seen by it.
//  3. A free at the same time as an access is the program's race, and harmless to the host: the bytes and the
//     Allocation stay until all have ended who may have found them (GlobalMemory::Users).
//  4. No allocation lies in the windows of the generic address space (memory.h). So an entry answers generic
//     addresses, too, and those of shared or local memory have none.
//
// What the memory's kind forbids is the caller's to ask: is_read_only of stores, and is_plain() of all.
//
// Tests: tests/unit/vgpu/translation_test.cc.
#pragma once

#include "vgpu/memory/written_bytes.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace lemma::vgpu {

struct Allocation;
class GlobalMemory;

struct alignas(64) Translation {
  uint64_t begin = 0;        // address
  uint64_t bytes = 0;        // 0: of nothing
  std::byte* host = nullptr; // of `begin`
  Allocation* allocation = nullptr;
  WrittenBytes* init = nullptr; // null: all of it counts as written
  uint64_t generation = 0;
  bool is_read_only = false;

  bool holds(uint64_t address, uint64_t count) const {
    const uint64_t offset = address - begin;
    return offset < bytes && count <= bytes - offset;
  }
  // Of a range that it holds, of at most a page: does nothing stand in the way of a read, or of a write?
  [[gnu::always_inline]] bool is_plain(uint64_t address, uint32_t count) const {
    return !init || init->pages_hold(address - begin, count);
  }
};

// One thread's. An instruction most often accesses what it did before, so a hint for each says where its
// entry is.
class Translations {
public:
  // For the instruction at a pc: the entry that holds the range, while the memory's generation is this; null
  // where renew() has to be asked.
  [[gnu::always_inline]] const Translation* find(uint32_t pc, uint64_t address, uint64_t bytes,
                                                 uint64_t generation) const {
    const Translation& entry = entries_[hints_[pc % kHints]];
    return entry.holds(address, bytes) && entry.generation == generation ? &entry : nullptr;
  }
  // Null: no live allocation holds the range.
  const Translation* renew(const GlobalMemory& memory, uint32_t pc, uint64_t address, uint64_t bytes);

  static constexpr size_t kEntries = 32, kHints = 256;

private:
  friend class Emit; // compiled code does what find() does
  std::array<Translation, kEntries> entries_;
  std::array<uint8_t, kHints> hints_{};
  uint32_t oldest_ = 0; // entry
};

} // namespace lemma::vgpu

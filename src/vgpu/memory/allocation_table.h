// Allocations by ascending base, found without a lock while others are appended.
//
// Tests: tests/unit/vgpu/memory_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lemma::vgpu {

struct Allocation;

class AllocationTable {
public:
  AllocationTable();
  ~AllocationTable();

  // Its base is above all that are there. Not owned; it must outlive the table. One thread at a time.
  void append(Allocation* allocation);

  // The last whose base is not above the address, and the first whose base is; null: there is none.
  std::pair<Allocation*, Allocation*> around(uint64_t address) const;

private:
  struct Entries;
  std::atomic<const Entries*> published_;
  std::vector<std::unique_ptr<Entries>> entries_; // outgrown ones are kept: a reader may still look at one
};

} // namespace lemma::vgpu

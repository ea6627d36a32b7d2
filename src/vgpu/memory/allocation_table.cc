// An array that is appended to in place: its count is what publishes an entry. A full one is copied to one of
// twice the size.
#include "vgpu/memory/allocation_table.h"

#include "vgpu/memory/memory.h"

#include <algorithm>

namespace lemma::vgpu {

struct AllocationTable::Entries {
  explicit Entries(size_t capacity) : capacity(capacity), all(std::make_unique<Allocation*[]>(capacity)) {}
  size_t capacity;
  std::atomic<size_t> count{0}; // entries below it are complete
  std::unique_ptr<Allocation*[]> all;
};

AllocationTable::AllocationTable() {
  entries_.push_back(std::make_unique<Entries>(64));
  published_.store(entries_.back().get(), std::memory_order_release);
}

AllocationTable::~AllocationTable() = default;

void AllocationTable::append(Allocation* allocation) {
  Entries* entries = entries_.back().get();
  const size_t count = entries->count.load(std::memory_order_relaxed);
  if (count == entries->capacity) {
    auto larger = std::make_unique<Entries>(2 * entries->capacity);
    std::copy_n(entries->all.get(), count, larger->all.get());
    larger->count.store(count, std::memory_order_relaxed);
    entries_.push_back(std::move(larger));
    entries = entries_.back().get();
    published_.store(entries, std::memory_order_release);
  }
  entries->all[count] = allocation;
  entries->count.store(count + 1, std::memory_order_release);
}

std::pair<Allocation*, Allocation*> AllocationTable::around(uint64_t address) const {
  const Entries* entries = published_.load(std::memory_order_acquire);
  Allocation* const* begin = entries->all.get();
  Allocation* const* end = begin + entries->count.load(std::memory_order_acquire);
  Allocation* const* after =
      std::upper_bound(begin, end, address, [](uint64_t a, const Allocation* e) { return a < e->base; });
  return {after == begin ? nullptr : after[-1], after == end ? nullptr : *after};
}

} // namespace lemma::vgpu

// Holes are joined with their neighbours as they come. A leaf is never taken away: a reader may be in it.
#include "vgpu/memory/address_allocator.h"

#include "support/align.h"
#include "vgpu/memory/memory.h"

#include <algorithm>
#include <iterator>

namespace lemma::vgpu {

AddressAllocator::AddressAllocator(uint64_t begin, uint64_t end, uint64_t align_bytes)
    : begin_(begin), end_(end), align_bytes_(align_bytes), next_(begin),
      leaves_(std::make_unique<std::atomic<Leaf*>[]>(slot_of(end - 1) / kLeafSlots + 1)) {}

AddressAllocator::~AddressAllocator() {
  for (uint64_t i = 0; i <= slot_of(end_ - 1) / kLeafSlots; ++i)
    delete leaves_[i].load(std::memory_order_relaxed);
}

uint64_t AddressAllocator::span_of(uint64_t bytes) const {
  return align_up(bytes, align_bytes_) + align_up(kGapBytes, align_bytes_);
}

void AddressAllocator::add_hole(uint64_t base, uint64_t bytes) {
  holes_.emplace(base, bytes);
  holes_by_size_.emplace(bytes, base);
}

void AddressAllocator::drop_hole(std::map<uint64_t, uint64_t>::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

uint64_t AddressAllocator::take(uint64_t bytes) {
  if (bytes >= end_ - begin_)
    return 0;
  const uint64_t span = span_of(bytes);
  if (const auto best = holes_by_size_.lower_bound({span, 0}); best != holes_by_size_.end()) {
    const auto [hole_bytes, base] = *best;
    drop_hole(holes_.find(base));
    if (hole_bytes > span)
      add_hole(base + span, hole_bytes - span);
    return base;
  }
  if (span > end_ - next_)
    return 0;
  next_ += span;
  return next_ - span;
}

void AddressAllocator::give_back(uint64_t base, uint64_t bytes) {
  uint64_t span = span_of(bytes);
  const auto above = holes_.lower_bound(base);
  if (above != holes_.begin())
    if (const auto below = std::prev(above); below->first + below->second == base) {
      base = below->first;
      span += below->second;
      drop_hole(below);
    }
  if (above != holes_.end() && above->first == base + span) {
    span += above->second;
    drop_hole(above);
  }
  if (base + span == next_)
    next_ = base;
  else
    add_hole(base, span);
}

void AddressAllocator::set_slots(const Allocation& of, Allocation* to) {
  if (of.size_bytes == 0) // it holds no address
    return;
  const uint64_t last = slot_of(of.base + of.size_bytes - 1);
  for (uint64_t slot = slot_of(of.base); slot <= last; ++slot)
    leaves_[slot / kLeafSlots]
        .load(std::memory_order_relaxed)
        ->slots[slot % kLeafSlots]
        .store(to, std::memory_order_release);
}

void AddressAllocator::put(Allocation& allocation) {
  const uint64_t first = slot_of(allocation.base);
  const uint64_t last = slot_of(allocation.base + std::max<uint64_t>(allocation.size_bytes, 1) - 1);
  for (uint64_t i = first / kLeafSlots; i <= last / kLeafSlots; ++i)
    if (!leaves_[i].load(std::memory_order_relaxed))
      leaves_[i].store(new Leaf, std::memory_order_release);
  set_slots(allocation, &allocation);
}

void AddressAllocator::remove(const Allocation& allocation) {
  set_slots(allocation, nullptr);
}

} // namespace lemma::vgpu

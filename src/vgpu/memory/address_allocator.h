// A range of addresses that is given out in parts, and who has each: found without a lock while others take
// parts and give them back.
//
//   | part | gap | part | gap |   hole   | part | gap |       never given out       |
//   begin                                                                          end
//
// A gap is a mebibyte, so that in each mebibyte of the range there is something of one part at most: the
// table is a pointer for each, in leaves that are made where parts are.
//
// Not here: how long an address stays unused after its part was freed (memory.cc).
//
// Tests: tests/unit/vgpu/address_allocator_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace lemma::vgpu {

struct Allocation;

class AddressAllocator {
public:
  static constexpr uint64_t kGapBytes = uint64_t{1} << 20; // behind each part

  // Of these addresses, `begin` included; parts begin and end at multiples of `align_bytes`, as `begin` does.
  AddressAllocator(uint64_t begin, uint64_t end, uint64_t align_bytes);
  ~AddressAllocator();
  AddressAllocator(const AddressAllocator&) = delete;

  bool holds(uint64_t address) const { return address - begin_ < end_ - begin_; }

  // One thread at a time calls these four.

  // A part of so many bytes, which may be 0: of the smallest hole that has room for it, else of what was
  // never given out. 0: neither has.
  uint64_t take(uint64_t bytes);
  // What take() has given, with as many bytes; no allocation is there any more.
  void give_back(uint64_t base, uint64_t bytes);
  // An allocation that has a part of this range: at() finds it from now on, or no more.
  void put(Allocation& allocation);
  void remove(const Allocation& allocation);

  // Any thread. The allocation that has been put there and may hold the address; null: none does.
  Allocation* at(uint64_t address) const {
    const uint64_t slot = slot_of(address);
    const Leaf* leaf = leaves_[slot / kLeafSlots].load(std::memory_order_acquire);
    return leaf ? leaf->slots[slot % kLeafSlots].load(std::memory_order_acquire) : nullptr;
  }

private:
  static constexpr size_t kLeafSlots = 1024;
  struct Leaf {
    std::atomic<Allocation*> slots[kLeafSlots] = {};
  };
  uint64_t slot_of(uint64_t address) const { return address / kGapBytes - begin_ / kGapBytes; }
  uint64_t span_of(uint64_t bytes) const; // with its gap
  void add_hole(uint64_t base, uint64_t bytes);
  void drop_hole(std::map<uint64_t, uint64_t>::iterator hole);
  void set_slots(const Allocation& of, Allocation* to);

  const uint64_t begin_, end_, align_bytes_;
  uint64_t next_; // what lies above was never given out
  const std::unique_ptr<std::atomic<Leaf*>[]> leaves_;
  // Holes do not touch one another, nor next_.
  std::map<uint64_t, uint64_t> holes_;                    // base -> bytes
  std::set<std::pair<uint64_t, uint64_t>> holes_by_size_; // (bytes, base)
};

} // namespace lemma::vgpu

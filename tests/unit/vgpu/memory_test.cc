// GlobalMemory and WrittenPages by themselves.
#include "vgpu/memory/memory.h"
#include "vgpu/memory/written_pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace lemma::vgpu {
namespace {

TEST(WrittenPages, HoldWhatWasWhollyWrittenUntilItIsForgotten) {
  constexpr uint64_t kPage = uint64_t{1} << WrittenPages::kPageShift, kPages = 70,
                     kBytes = kPages * kPage - 8;
  std::vector<uint8_t> marks(kBytes, 1);
  marks[40 * kPage + 5] = 0;
  WrittenPages pages;
  EXPECT_FALSE(pages.hold(0, 1));
  EXPECT_TRUE(pages.learn(marks, 3 * kPage + 7, 1));
  EXPECT_TRUE(pages.hold(3 * kPage, kPage));
  EXPECT_FALSE(pages.hold(3 * kPage, kPage + 1));
  EXPECT_FALSE(pages.hold(3 * kPage - 1, 2));
  EXPECT_FALSE(pages.learn(marks, 0, kBytes)); // but what lies before the hole is known now
  for (uint64_t begin = 0; begin < kPages; ++begin)
    for (uint64_t end = begin + 1; end <= kPages; ++end)
      EXPECT_EQ(pages.hold(begin * kPage, (end - begin) * kPage), end <= 40) << begin << " " << end;
  EXPECT_TRUE(pages.learn(marks, 41 * kPage, kBytes - 41 * kPage)); // the last page is not whole
  EXPECT_TRUE(pages.hold(41 * kPage, kBytes - 41 * kPage));
  EXPECT_FALSE(pages.hold(0, kBytes));
  EXPECT_FALSE(pages.learn(marks, kBytes - 4, kPage));
  marks[40 * kPage + 5] = 1;
  EXPECT_TRUE(pages.learn(marks, 0, kBytes));
  pages.forget(64 * kPage - 1, 2);
  EXPECT_FALSE(pages.hold(63 * kPage, 1));
  EXPECT_FALSE(pages.hold(64 * kPage, 1));
  EXPECT_TRUE(pages.hold(0, 63 * kPage));
  EXPECT_FALSE(pages.hold(WrittenPages::kMostBytes - 1, 2));
}

TEST(WrittenPages, LookSeldomWhereTheyKeepFindingHoles) {
  constexpr uint64_t kPage = uint64_t{1} << WrittenPages::kPageShift;
  std::vector<uint8_t> marks(2 * kPage, 1);
  marks[5] = 0;
  WrittenPages pages;
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(pages.learn(marks, 0, 1));
  marks[5] = 1;
  int looks = 1;
  while (!pages.learn(marks, 0, 1) && looks < 1000)
    ++looks;
  EXPECT_LE(looks, 64);
  EXPECT_TRUE(pages.learn(marks, kPage, 1)); // and often again
}

TEST(GlobalMemory, FindsWhatHoldsAnAddress) {
  GlobalMemory memory;
  std::vector<Allocation*> made;
  for (uint64_t i = 0; i < 1100; ++i) // in more than one leaf of the table
    made.push_back(memory.allocate(i, "a" + std::to_string(i)));
  std::set<uint64_t> bases;
  for (uint64_t i = 0; i < made.size(); ++i) {
    const Allocation& a = *made[i];
    EXPECT_TRUE(bases.insert(a.base).second);
    EXPECT_EQ(a.base % 256, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.host) % 256, 0u);
    EXPECT_EQ(memory.find(a.base), i == 0 ? nullptr : &a);
    if (i > 0) {
      EXPECT_EQ(memory.find(a.base + i - 1), &a);
    }
    EXPECT_EQ(memory.find(a.base + i), nullptr);
    EXPECT_EQ(memory.find(a.base - 1), nullptr);
    EXPECT_EQ(memory.nearest(a.base + i + 5), &a);
    EXPECT_EQ(memory.nearest(a.base - 5), &a);
  }
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_EQ(memory.nearest(0), made.front());
  EXPECT_EQ(memory.nearest(UINT64_MAX), made.back());
}

TEST(GlobalMemory, RegisteredHostMemoryHasItsOwnAddress) {
  GlobalMemory memory;
  std::vector<std::byte> host(1000);
  const auto base = reinterpret_cast<uintptr_t>(host.data());
  EXPECT_EQ(memory.find(base), nullptr);
  memory.register_host(host.data(), 1000, "host memory");
  const Allocation* other = memory.allocate(16, "device memory");
  for (const uint64_t offset : {0, 1, 500, 999}) {
    const Allocation* found = memory.find(base + offset);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, "host memory");
    EXPECT_EQ(found->host + (base + offset - found->base), host.data() + offset);
  }
  EXPECT_EQ(memory.find(base + 1000), nullptr);
  EXPECT_EQ(memory.find(base - 1), nullptr);
  EXPECT_EQ(memory.nearest(base + 1004)->name, "host memory");
  EXPECT_EQ(memory.nearest(other->base + 20), other);

  EXPECT_FALSE(memory.free(base));
  EXPECT_FALSE(memory.unregister_host(base + 1));
  EXPECT_TRUE(memory.unregister_host(base));
  EXPECT_FALSE(memory.unregister_host(base));
  EXPECT_EQ(memory.find(base), nullptr);
}

TEST(GlobalMemory, RegisteredRangesMayOverlap) {
  GlobalMemory memory;
  std::vector<std::byte> host(1000);
  const auto base = reinterpret_cast<uintptr_t>(host.data());
  memory.register_host(host.data(), 1000, "all");
  memory.register_host(host.data() + 100, 100, "a part");
  memory.register_host(host.data(), 10, "the first bytes");
  EXPECT_TRUE(memory.find(base + 150)->holds(base + 150, 850)); // the wider one
  EXPECT_TRUE(memory.unregister_host(base));
  EXPECT_TRUE(memory.find(base)->holds(base, 1000)); // was registered twice
  EXPECT_TRUE(memory.unregister_host(base));
  EXPECT_EQ(memory.find(base), nullptr);
  EXPECT_EQ(memory.find(base + 150)->name, "a part");
}

TEST(GlobalMemory, HostSharedMemoryIsAHostPointer) {
  GlobalMemory memory;
  const Allocation* shared = memory.allocate_host_shared(300, "shared");
  EXPECT_EQ(shared->base, reinterpret_cast<uintptr_t>(shared->host));
  EXPECT_EQ(shared->base % 256, 0u);
  EXPECT_EQ(memory.find(shared->base + 299), shared);
  EXPECT_EQ(shared->host[299], std::byte{0});
  const uint64_t base = shared->base;
  EXPECT_FALSE(memory.unregister_host(base));
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  EXPECT_EQ(memory.find(base), nullptr);
}

TEST(GlobalMemory, HostSharedMemoryIsUsedOnce) {
  GlobalMemory memory;
  const Allocation* a = memory.allocate_host_shared(5000, "a");
  const Allocation* b = memory.allocate_host_shared(0, "b");
  const Allocation* huge = memory.allocate_host_shared(uint64_t{100} << 30, "huge"); // more than an arena has
  ASSERT_TRUE(a && b && huge);
  EXPECT_GE(b->base - (a->base + 5000), uint64_t{1} << 20);
  EXPECT_FALSE(memory.find(a->base + 5000));
  EXPECT_EQ(memory.nearest(a->base + 5010), a);
  EXPECT_EQ(memory.find(huge->base + (uint64_t{100} << 30) - 1), huge);
  const uint64_t base = a->base;
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  EXPECT_FALSE(memory.find(base));
  EXPECT_EQ(memory.nearest(base), a);
  EXPECT_TRUE(a->freed);
  EXPECT_TRUE(memory.free(huge->base));
  for (int i = 0; i < 100; ++i) {
    const Allocation* next = memory.allocate_host_shared(5000, "next");
    EXPECT_NE(next->base, base);
    EXPECT_TRUE(memory.free(next->base));
  }
}

#ifndef __SANITIZE_THREAD__
TEST(GlobalMemoryDeath, TheHostFindsFreedSharedMemoryGone) {
  GlobalMemory memory;
  volatile std::byte* bytes = memory.allocate_host_shared(100, "shared")->host;
  bytes[99] = std::byte{1};
  memory.free(reinterpret_cast<uintptr_t>(bytes));
  EXPECT_DEATH(bytes[99] = std::byte{2}, "");
}
#endif

TEST(GlobalMemory, ZeroedOrPoisoned) {
  GlobalMemory memory;
  const Allocation* plain = memory.allocate(1000, "plain");
  const Allocation* poisoned = memory.allocate(1000, "poisoned", true);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(plain->host[i], std::byte{0});
  }
  EXPECT_NE(std::count(poisoned->host, poisoned->host + 1000, std::byte{0}), 1000);
  std::vector<std::byte> bytes(poisoned->host, poisoned->host + 1000);
  GlobalMemory other; // the same place: the same bytes
  other.allocate(1000, "plain");
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), other.allocate(1000, "poisoned", true)->host));
  // Another seed: others, but for what was written.
  std::memset(poisoned->host + 100, 1, 61);
  poisoned->init->set(100, 61);
  memory.set_seed(5);
  int same = 0;
  for (int i = 0; i < 1000; ++i)
    if (i >= 100 && i < 161)
      EXPECT_EQ(poisoned->host[i], std::byte{1}) << i;
    else
      same += poisoned->host[i] == bytes[i];
  EXPECT_LT(same, 40);
  memory.set_seed(0);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 100, poisoned->host));
  EXPECT_EQ(plain->init, nullptr);
  EXPECT_FALSE(poisoned->init->all_set(0, 1));
  EXPECT_EQ(memory.allocate(uint64_t{1} << 62, "more than there is"), nullptr);
}

TEST(GlobalMemory, AFreedAllocationIsKnownButNotFound) {
  GlobalMemory memory;
  Allocation* a = memory.allocate(64, "a");
  const uint64_t base = a->base;
  EXPECT_FALSE(memory.free(base + 1));
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  EXPECT_EQ(memory.find(base), nullptr);
  EXPECT_EQ(memory.nearest(base + 8), a);
  EXPECT_TRUE(a->freed);
  EXPECT_NE(memory.allocate(64, "b")->base, base);
}

TEST(GlobalMemory, AddressesAreUsedAgainAfterAQuarantine) {
  GlobalMemory memory;
  for (const bool shared : {false, true}) {
    const auto allocate = [&](uint64_t bytes) {
      return shared ? memory.allocate_host_shared(bytes, "shared") : memory.allocate(bytes, "device");
    };
    const uint64_t base = allocate(64)->base;
    std::set<uint64_t> bases;
    EXPECT_TRUE(memory.free(base));
    for (size_t i = 1; i < GlobalMemory::kQuarantined; ++i) {
      const Allocation* next = allocate(64);
      EXPECT_TRUE(bases.insert(next->base).second);
      ASSERT_NE(next->base, base) << i;
      memory.free(next->base);
    }
    EXPECT_TRUE(memory.nearest(base)->freed);
    EXPECT_EQ(memory.nearest(base)->base, base);
    for (int i = 0; i < 5000; ++i) {
      const Allocation* next = allocate(64);
      ASSERT_TRUE(next);
      EXPECT_EQ(memory.find(next->base), next);
      bases.insert(next->base);
      memory.free(next->base);
    }
    EXPECT_LE(bases.size(), GlobalMemory::kQuarantined + 2);
    EXPECT_EQ(memory.budget().in_use(), 0u);
  }
}

// More addresses than there are. What is large is used again at once, and does not push out what is
// small. Addresses alone are enough for it: reserve().
TEST(GlobalMemory, LargeAllocationsComeAndGoForEver) {
  GlobalMemory memory;
  constexpr uint64_t kLarge = uint64_t{100} << 30;
  const uint64_t small = memory.allocate(64, "small")->base;
  const uint64_t shared_small = memory.allocate_host_shared(64, "small")->base;
  EXPECT_TRUE(memory.free(small));
  EXPECT_TRUE(memory.free(shared_small));
  for (uint64_t i = 0; i < (kHeapBase - kGlobalBase) / kLarge + 5; ++i) {
    const Allocation* large = memory.reserve(kLarge, "large");
    ASSERT_TRUE(large) << i;
    ASSERT_TRUE(memory.free(large->base));
  }
  std::set<uint64_t> bases;
  for (int i = 0; i < 5; ++i) {
    const Allocation* shared = memory.allocate_host_shared(kLarge, "large");
    ASSERT_TRUE(shared) << i;
    bases.insert(shared->base);
    ASSERT_TRUE(memory.free(shared->base));
  }
  EXPECT_EQ(bases.size(), 1u);
  EXPECT_EQ(memory.nearest(small)->base, small);
  EXPECT_EQ(memory.nearest(shared_small)->base, shared_small);
}

TEST(GlobalMemory, AnAddressIsReservedUntilItsMemoryIsTaken) {
  GlobalMemory memory(1 << 20);
  const Allocation* promised = memory.reserve(600'000, "promised");
  const uint64_t base = promised->base;
  EXPECT_EQ(memory.promised_bytes(), 600'000u);
  EXPECT_EQ(memory.find(base), nullptr);
  EXPECT_EQ(memory.budget().in_use(), 0u);
  const uint64_t other = memory.allocate(600'000, "other")->base;
  EXPECT_THROW(memory.commit(base), OverBudget);
  EXPECT_TRUE(memory.free(other));
  EXPECT_TRUE(memory.commit(base));
  EXPECT_EQ(memory.find(base + 599'999), promised);
  EXPECT_EQ(memory.promised_bytes(), 0u);
  EXPECT_TRUE(memory.commit(base)); // nothing more is to be done
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  const uint64_t given_up = memory.reserve(64, "given up")->base;
  EXPECT_TRUE(memory.free(given_up));
  EXPECT_TRUE(memory.commit(given_up));
  EXPECT_EQ(memory.find(given_up), nullptr);
  EXPECT_EQ(memory.promised_bytes(), 0u);
  EXPECT_EQ(memory.budget().in_use(), 0u);
}

// A new allocation at an old address is another one: whoever holds the old one sees that it was freed.
TEST(GlobalMemory, FindWhileAddressesAreUsedAgain) {
  GlobalMemory memory;
  std::atomic<uint64_t> current{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> readers;
  for (int t = 0; t < 2; ++t)
    readers.emplace_back([&] {
      while (!over) {
        const GlobalMemory::Users user(memory, 1);
        const uint64_t address = current;
        const Allocation* found = memory.find(address);
        if (!found)
          continue;
        EXPECT_EQ(found->base, address);
        EXPECT_EQ(found->size_bytes, 96u);
        // Its bytes stay, freed or not; two of the others' are not seen in them.
        EXPECT_EQ(std::to_integer<int>(found->host[0]), std::to_integer<int>(found->host[95]));
        if (found->freed) {
          EXPECT_NE(memory.find(address), found);
        }
        (void)memory.nearest(address);
      }
    });
  for (int i = 0; i < 6000; ++i) {
    const Allocation* made = memory.allocate(96, "comes and goes");
    current = made->base;
    ASSERT_TRUE(memory.free(made->base));
    if (i % 64 == 0)
      std::this_thread::yield();
  }
  over = true;
}

TEST(GlobalMemory, SaysWhenBytesAreGone) {
  GlobalMemory memory;
  const uint64_t base = memory.allocate(64, "a")->base;
  int gone = 0;
  {
    const GlobalMemory::Users user(memory, 1);
    EXPECT_TRUE(memory.free(base, [&] { ++gone; }));
    EXPECT_EQ(gone, 0);
    EXPECT_FALSE(memory.free(base, [&] { gone = 100; }));
  }
  EXPECT_EQ(gone, 1);
}

TEST(GlobalMemory, WhatIsFreedStaysForThoseWhoFoundIt) {
  GlobalMemory memory;
  const Allocation* device = memory.allocate(64, "device");
  const Allocation* shared = memory.allocate_host_shared(64, "shared");
  std::vector<std::byte> host(64);
  memory.register_host(host.data(), host.size(), "host");
  const auto host_base = reinterpret_cast<uintptr_t>(host.data());
  const uint64_t taken = memory.budget().in_use();
  {
    const GlobalMemory::Users before(memory, 1);
    const Allocation* registered = memory.find(host_base);
    ASSERT_TRUE(registered);
    std::byte* bytes[] = {device->host, shared->host};
    const uint64_t bases[] = {device->base, shared->base};
    EXPECT_TRUE(memory.free(bases[0]));
    EXPECT_TRUE(memory.free(bases[1]));
    EXPECT_TRUE(memory.unregister_host(host_base));
    for (const uint64_t base : {bases[0], bases[1], host_base})
      EXPECT_FALSE(memory.find(base));
    EXPECT_FALSE(memory.free(bases[0]));
    EXPECT_TRUE(device->freed && shared->freed && registered->freed);
    for (std::byte* each : bytes)
      *each = std::byte{1}; // under -DLEMMA_SANITIZE=address a use after free if it is gone
    EXPECT_EQ(memory.budget().in_use(), taken);
    const GlobalMemory::Users after(memory, 1);
  }
  EXPECT_LT(memory.budget().in_use(), taken);
  EXPECT_EQ(device->host, nullptr);
}

TEST(GlobalMemory, FindWhileOthersRegister) {
  GlobalMemory memory;
  std::vector<std::byte> host(1000);
  memory.register_host(host.data(), 10, "stays");
  const auto base = reinterpret_cast<uintptr_t>(host.data());
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int round = 0; round < 300; ++round) {
      for (size_t i = 100; i < 1000; i += 100)
        memory.register_host(&host[i], 10, "comes and goes");
      for (size_t i = 100; i < 1000; i += 100)
        EXPECT_TRUE(memory.unregister_host(base + i));
    }
    over = true;
  });
  while (!over) {
    const GlobalMemory::Users user(memory, 1);
    EXPECT_TRUE(memory.find(base + 9));
    EXPECT_FALSE(memory.find(base + 10));
    const Allocation* found = memory.find(base + 505);
    EXPECT_TRUE(!found || found->base == base + 500);
  }
  other.join();
}

TEST(GlobalMemory, HeapBlocksAreApartAndComeBack) {
  GlobalMemory memory;
  EXPECT_EQ(memory.heap_allocate(0), nullptr);
  EXPECT_EQ(memory.heap_allocate(GlobalMemory::kHeapBytes + 1), nullptr);
  // Fill the heap with blocks of 1 MiB, free every other one, then all.
  std::vector<Allocation*> blocks;
  while (Allocation* block = memory.heap_allocate(1 << 20))
    blocks.push_back(block);
  ASSERT_EQ(blocks.size(), 8u);
  for (size_t i = 0; i < blocks.size(); ++i)
    std::memset(blocks[i]->host, static_cast<int>(i), 1 << 20);
  for (size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(blocks[i]->host[(1 << 20) - 1], std::byte(i));
  for (size_t i = 0; i < blocks.size(); i += 2)
    EXPECT_EQ(memory.heap_free(blocks[i]->base), HeapFree::done);
  EXPECT_EQ(memory.heap_allocate(2 << 20), nullptr) << "the holes are 1 MiB each";
  for (size_t i = 1; i < blocks.size(); i += 2)
    EXPECT_EQ(memory.heap_free(blocks[i]->base), HeapFree::done);
  EXPECT_EQ(memory.heap_free(blocks[3]->base), HeapFree::already_freed);
  EXPECT_EQ(memory.heap_free(blocks[3]->base + 16), HeapFree::not_a_block);
  EXPECT_EQ(memory.heap_free(memory.allocate(16, "not of the heap")->base), HeapFree::not_a_block);
  EXPECT_EQ(memory.find(blocks[3]->base), nullptr);
  const Allocation* all = memory.heap_allocate(GlobalMemory::kHeapBytes);
  ASSERT_NE(all, nullptr) << "the holes join again";
  EXPECT_FALSE(all->init->all_set(0, 1));
}

TEST(GlobalMemory, ALoopOfMallocAndFreeNeedsNoMoreMemory) {
  GlobalMemory memory;
  std::set<uint64_t> bases;
  for (int i = 0; i < 10000; ++i) {
    Allocation* block = memory.heap_allocate(48);
    ASSERT_NE(block, nullptr);
    EXPECT_FALSE(block->init->all_set(0, 1));
    block->init->set(0, 48);
    bases.insert(block->base);
    ASSERT_EQ(memory.heap_free(block->base), HeapFree::done);
  }
  EXPECT_LT(bases.size(), 100u);
}

TEST(GlobalMemory, FindWhileOthersAllocate) {
  GlobalMemory memory;
  Allocation* first = memory.allocate(128, "first");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Allocation* block = memory.heap_allocate(16);
        if (block) {
          EXPECT_EQ(memory.find(block->base + 15), block);
        }
      }
    });
  for (int i = 0; i < 20000; ++i)
    ASSERT_EQ(memory.find(first->base + 127), first);
}

} // namespace
} // namespace lemma::vgpu

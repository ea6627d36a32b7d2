// Device memory of the virtual GPU: allocations with bounds, and where each state space lies in the generic
// address space.
//
//   generic address                         state space
//   0x0000'0100'0000'0000 + (0 .. 2^32)     shared window (kSharedWindow + shared address)
//   0x0000'0200'0000'0000 + (0 .. 2^24)     local window, the same for every lane
//   0x0000'0300'0000'0000 + (0 .. 2^16)     kernel parameters (cvta.param)
//   0x0000'1f00'0000'0000 and up            global and const: one range an allocation, guard gaps between
//   0x0000'2900'0000'0000 and up            the blocks of device malloc
//   arenas of the process's addresses       memory that the host sees too, with guard gaps (host_arena.h)
//   everything else                         host memory that was registered, under its own address
//
// No system that Lemma runs on places a process's memory in these ranges, so a registered host address is
// never taken for anything else, and a host program may tell its pointers from the device's.
//
// A shared address names a CTA of the cluster too (measured on an H200):
//
//   31        24 23                    0
//   | CTA rank  |  offset in its memory |
//
// Addresses (but for host memory's) are the same in every run, so that a program that prints or hashes a
// pointer repeats.
//
// Launches run beside one another and beside the host, and memory comes and goes meanwhile. All is
// thread-safe; find() takes no lock. What is freed or unregistered is not found from then on; its bytes go
// back to the host when all have ended that might have found it before (Users).
//
// A use after free is named as long as the allocation is known as freed: it is one of the last
// kQuarantined that were freed, and these have no more than kQuarantinedBytes of addresses together. What is
// larger than a sixteenth of that is forgotten at once. Then its address is used again, by another
// Allocation: who has found the old one has it, marked as freed, as long as he is one of the users.
//
// Tests: tests/unit/vgpu/memory_test.cc, address_allocator_test.cc.
#pragma once

#include "support/memory_budget.h"
#include "vgpu/memory/address_allocator.h"
#include "vgpu/memory/allocation_table.h"
#include "vgpu/memory/host_arena.h"
#include "vgpu/memory/translation.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {

class SpareClusters;

inline constexpr uint64_t kWindowBytes = uint64_t{1} << 24;
inline constexpr uint64_t kSharedWindow = 0x0000'0100'0000'0000;
inline constexpr uint64_t kSharedWindowBytes = uint64_t{1} << 32;
inline constexpr int kSharedRankShift = 24; // of the rank in a shared address
inline constexpr uint64_t kSharedOffsetMask = (uint64_t{1} << kSharedRankShift) - 1;
inline constexpr uint64_t kLocalWindow = 0x0000'0200'0000'0000;
inline constexpr uint64_t kParamWindow = 0x0000'0300'0000'0000;
inline constexpr uint64_t kGlobalBase = 0x0000'1f00'0000'0000;
inline constexpr uint64_t kHeapBase = 0x0000'2900'0000'0000;
inline constexpr uint64_t kGlobalEnd = 0x0000'2a00'0000'0000; // the host's pointers lie above (or far below)

// The first byte a kernel may use of its shared memory: machines from sm_80 on keep 1 KiB at its start for
// the system. The older ones do not; their CTAs have it here too, and it does not count.
inline constexpr uint32_t kSharedReservedBytes = 1024;

struct FreeDeleter {
  uint64_t arena_bytes = 0; // of a HostArena; 0: of malloc
  void operator()(std::byte* memory) const;
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size_bytes = 0;
  std::byte* host = nullptr; // aligned to 256 bytes; device malloc: to 16
  std::string name;          // "arg 2 (buf)", ".global table", "device malloc"
  bool read_only = false;    // .const, or registered host memory that the process cannot write
  bool is_promised = false;  // an address without memory yet: reserve()
  std::atomic<bool> freed{false};
  std::unique_ptr<WrittenBytes> init; // null: counts as written (in, out, inout, module variables)
  std::unique_ptr<std::byte[], FreeDeleter> storage; // null: device malloc, or registered host memory
  uint64_t registrations = 0;                        // of registered host memory: how often
  MemoryShare taken;                                 // for `storage` and `init`
  std::function<void()> when_gone;                   // called before `storage` goes

  bool holds(uint64_t address, uint64_t bytes) const {
    return address - base < size_bytes && bytes <= size_bytes - (address - base);
  }
};

// What device free did.
enum class HeapFree : uint8_t { done, already_freed, not_a_block };

class GlobalMemory {
public:
  static constexpr uint64_t kAlignBytes = 256;
  static constexpr uint64_t kGuardBytes = AddressAllocator::kGapBytes; // between allocations
  static constexpr uint64_t kHeapBytes = uint64_t{8} << 20; // CUDA's default cudaLimitMallocHeapSize
  static constexpr uint64_t kHeapAlignBytes = 16;
  // What is known as freed: of allocate(), and of allocate_host_shared().
  static constexpr size_t kQuarantined = 1024;
  static constexpr uint64_t kQuarantinedBytes = uint64_t{1} << 40;
  static constexpr uint64_t kQuarantinedHostBytes = uint64_t{64} << 30;

  // What the device as a whole may take of the host's memory: its allocations, and what programs and launches
  // take besides.
  explicit GlobalMemory(uint64_t limit_bytes = UINT64_MAX);
  ~GlobalMemory();
  MemoryBudget& budget() { return budget_; }
  // What launches leave for later ones.
  SpareClusters& spare_clusters() { return *spare_clusters_; }

  // Zeroed memory, aligned to 256 bytes, never adjacent to another allocation. `poisoned`: reads before the
  // first write are reported, and the bytes are those of poison.h. Returns null if the host has no memory
  // left; throws OverBudget if the device may not take so much.
  Allocation* allocate(uint64_t size_bytes, std::string name, bool poisoned = false);
  // The same, but zeroed and at an address that is also the host's pointer to it. There a use after free is a
  // fault of the host's program too.
  Allocation* allocate_host_shared(uint64_t size_bytes, std::string name);
  // As allocate(), in two steps: an address, where nothing is found until memory is taken for it. commit()
  // returns false if the host has no memory left, and throws OverBudget; then it may be called again.
  Allocation* reserve(uint64_t size_bytes, std::string name);
  bool commit(uint64_t base);
  // Reserved, and without memory so far.
  uint64_t promised_bytes() const { return promised_bytes_.load(std::memory_order_relaxed); }
  // Freed, and not gone yet.
  uint64_t retiring_bytes() const { return retiring_bytes_.load(std::memory_order_relaxed); }
  // False if `base` is not the base of a live allocation of one of these three. `when_gone`: called when its
  // bytes go, on whichever thread; it may not call this object.
  bool free(uint64_t base, std::function<void()> when_gone = {});

  // Makes host memory an allocation at its own address, until it was unregistered as often as registered.
  // Ranges may overlap; a second one at the same base widens the first.
  // `read_only`: a store there is a fault of the kernel's.
  void register_host(std::byte* host, uint64_t size_bytes, std::string name, bool read_only = false);
  // False if nothing is registered at that base. A launch that runs may use the memory until it ends.
  bool unregister_host(uint64_t base);

  // What was never written in poisoned memory takes the values that belong to the seed (0 until it is set),
  // and keeps them until another is set. Without effect while a kernel runs that may be looking at them.
  void set_seed(uint64_t seed);

  // malloc and free in a kernel, any thread. Poisoned memory, aligned to 16 bytes; null when the heap is used
  // up. Host memory of the heap stays until the end, so that a use after free meets memory of this object and
  // nothing else.
  Allocation* heap_allocate(uint64_t size_bytes);
  HeapFree heap_free(uint64_t base);

  // Host threads that run a kernel on this memory, or copy there, from its constructor to its destructor:
  // what they find with find() stays as long. None: one that only speaks of what the others have found.
  class Users {
  public:
    Users(GlobalMemory& memory, uint32_t threads);
    ~Users();
    Users(const Users&) = delete;

  private:
    GlobalMemory& memory_;
    const uint32_t threads_;
    uint64_t generation_ = 0;
  };
  // For one of them. True: it is the only one, and none comes before it says end_alone(); until then no other
  // thread changes what kernels see but in memory whose address the host has.
  bool begin_alone() {
    if (threads_.load(std::memory_order_relaxed) != 1)
      return false;
    alone_.store(true); // before the count is looked at again: Users does it the other way round
    if (threads_.load() == 1)
      return true;
    alone_.store(false);
    return false;
  }
  void end_alone() { alone_.store(false, std::memory_order_release); }

  // Grows whenever somebody has done what a kernel may be waiting for: another kernel, a copy, the host.
  uint64_t activity() const { return activity_.load(); }
  void note_activity() { activity_.fetch_add(1); }

  // The live allocation that holds the address, or null. For one of the users.
  Allocation* find(uint64_t address) const;
  // The same of a range, as an entry that answers while generation() is that of the entry.
  Translation translate(uint64_t address, uint64_t bytes) const;
  // Grows when something that translate() may have given is not live any more.
  uint64_t generation() const { return translations_.load(std::memory_order_acquire); }
  // For messages: the allocation (freed ones too) whose range is nearest; null if there is none. For one of
  // the users.
  const Allocation* nearest(uint64_t address) const;

  // Where a GPU has memory past the end of an allocation (OnFault::warn): of the 2 MiB that the allocation
  // ends in, or of the gap behind it, if that is less, the half that is nearer. The bytes are zero at first.
  struct PastEnd {
    Allocation* allocation = nullptr; // null: there is none that the whole range is past the end of
    std::byte* host = nullptr;
  };
  // For one of the users. Throws OverBudget.
  PastEnd past_end(uint64_t address, uint64_t bytes);

private:
  friend class Emit; // compiled code reads generation()
  struct HostTable;
  struct Retired;
  using HostAllocations = std::map<uint64_t, std::unique_ptr<Allocation>>; // by base
  // Allocations that are known as freed, oldest first.
  struct Quarantine {
    const uint64_t most_bytes;
    uint64_t bytes = 0;
    std::list<Allocation*> all = {};
    bool is_too_large(const Allocation& allocation) const { return allocation.size_bytes > most_bytes / 16; }
  };
  HostArena* arena_of(uint64_t address) const;
  Allocation* find_host(uint64_t address) const;
  Allocation* heap_block_at(uint64_t base) const;
  // These under mutex_.
  Allocation* keep(std::unique_ptr<Allocation> allocation, AddressAllocator& range);
  uint64_t take_address(uint64_t size_bytes);
  std::byte* take_in_arenas(uint64_t size_bytes);
  Quarantine& quarantine_of(uint64_t address);
  void forget_oldest(Quarantine& quarantine);
  void forget_what_is_too_much(Quarantine& quarantine);
  void publish_host_table();
  void remove_host(HostAllocations::iterator which);
  void retire_host(std::unique_ptr<Allocation> allocation);
  void end_life(Allocation& allocation);
  void retire(Retired what);
  void let_go_of_retired();

  MemoryBudget budget_; // first: what others have taken is given back to it
  std::unique_ptr<SpareClusters> spare_clusters_;
  static constexpr size_t kMostArenas = 256;
  AddressAllocator device_{kGlobalBase, kHeapBase, kAlignBytes};
  std::array<std::unique_ptr<HostArena>, kMostArenas> arenas_;
  std::atomic<size_t> arena_count_{0};                          // those below it are complete
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations_; // by base; freed ones that are known too
  Quarantine quarantine_{kQuarantinedBytes}, host_quarantine_{kQuarantinedHostBytes};
  static void poison_unwritten(const Allocation& allocation, uint64_t seed);
  uint64_t seed_ = 0;
  std::atomic<uint64_t> promised_bytes_{0}, retiring_bytes_{0};
  mutable std::mutex mutex_;
  std::atomic<uint32_t> threads_{0};
  std::atomic<bool> alone_{false};

  std::atomic<uint64_t> activity_{0};
  std::atomic<uint64_t> translations_{0}; // generation()

  // Registered memory; find() reads the table that is made of it anew at every change.
  HostAllocations host_;
  std::unique_ptr<const HostTable> host_table_;
  std::atomic<const HostTable*> published_host_table_;

  // Who uses the memory, by the time of their coming, and what waits for them to go.
  uint64_t generation_ = 0;
  std::set<uint64_t> user_generations_;
  std::deque<Retired> retired_; // by ascending generation

  struct Tail {
    std::unique_ptr<std::byte[]> bytes;
    MemoryShare taken;
  };
  std::map<uint64_t, Tail> tails_; // what is past the end of allocations, by their base; see past_end()

  std::unique_ptr<std::byte[], FreeDeleter> heap_; // made by the first heap_allocate()
  MemoryShare heap_taken_;                         // for it, and for what is kept of every block
  AllocationTable heap_table_;                     // from kHeapBase on
  std::vector<std::unique_ptr<Allocation>> heap_blocks_;
  uint64_t heap_next_ = kHeapBase;
  std::map<uint64_t, uint64_t> heap_holes_;                          // offset in heap_ -> bytes
  std::unordered_map<uint64_t, std::deque<Allocation*>> heap_freed_; // by size, oldest first
};

} // namespace lemma::vgpu

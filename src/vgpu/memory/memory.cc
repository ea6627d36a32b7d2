// Device memory: allocations, the table that finds them by address, the device heap, host memory that kernels
// may use, and which bytes were written. Bounds, alignment and faults of an access are in access.cc.
//
// Tests: tests/unit/vgpu/memory_test.cc.
#include "vgpu/memory/memory.h"

#include "support/align.h"
#include "vgpu/engine/spare_clusters.h"
#include "vgpu/memory/poison.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <utility>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kLargestBytes = kHeapBase - kGlobalBase;
// A freed heap block's address is used again only after this many others of its size were freed.
constexpr size_t kHeapQuarantine = 64;

constexpr uint64_t kWrittenShare = 8; // WrittenBytes take a byte for so many, at most

// Rows of a large matrix lie pages of 4 KiB apart, and the host knows the places of few of these at a time.
constexpr uint64_t kHugePage = uint64_t{2} << 20;

// Zeroed host memory for an allocation: sets `storage` and `host`. False if there is none left.
bool take_storage(Allocation& allocation, MemoryBudget& budget, bool tracked) {
  const uint64_t map_bytes = tracked ? allocation.size_bytes / kWrittenShare : 0;
  allocation.taken = MemoryShare(budget);
  allocation.taken.take(allocation.size_bytes + GlobalMemory::kAlignBytes + map_bytes,
                        allocation.name.empty() ? "a buffer" : allocation.name);
  const bool is_large = allocation.size_bytes >= kHugePage;
  const uint64_t align = is_large ? kHugePage : GlobalMemory::kAlignBytes;
  allocation.storage.reset(static_cast<std::byte*>(std::calloc(allocation.size_bytes + align, 1)));
  if (!allocation.storage)
    return false;
  const auto raw = reinterpret_cast<uintptr_t>(allocation.storage.get());
  allocation.host = allocation.storage.get() + (align_up(raw, align) - raw);
#ifdef MADV_HUGEPAGE
  if (is_large) // a wish: nothing depends on it
    madvise(allocation.host, allocation.size_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return true;
}

} // namespace

void FreeDeleter::operator()(std::byte* memory) const {
  if (arena_bytes)
    HostArena::give_back(memory, arena_bytes);
  else
    std::free(memory);
}

// Registered memory, by ascending base. Ranges may overlap.
struct GlobalMemory::HostTable {
  struct Entry {
    uint64_t base = 0;
    uint64_t furthest_end = 0; // of this entry's range and those before it
    Allocation* allocation = nullptr;
  };
  std::vector<Entry> entries;

  // The first entry whose base is above the address.
  std::vector<Entry>::const_iterator after(uint64_t address) const {
    return std::upper_bound(entries.begin(), entries.end(), address,
                            [](uint64_t a, const Entry& e) { return a < e.base; });
  }
};

// What nobody finds any more.
struct GlobalMemory::Retired {
  uint64_t generation = 0;                     // users of earlier ones may have found it
  std::list<Allocation*> emptied = {};         // one that stays known, whose bytes go, for the quarantine; or
  std::unique_ptr<Allocation> allocation = {}; // one that goes as a whole; or
  std::unique_ptr<const HostTable> table = {};
};

GlobalMemory::GlobalMemory(uint64_t limit_bytes)
    : budget_(limit_bytes), spare_clusters_(std::make_unique<SpareClusters>(limit_bytes)),
      host_table_(std::make_unique<HostTable>()), heap_taken_(budget_) {
  published_host_table_.store(host_table_.get(), std::memory_order_release);
}

GlobalMemory::~GlobalMemory() = default;

void GlobalMemory::retire(Retired what) {
  what.generation = ++generation_;
  retired_.push_back(std::move(what));
  let_go_of_retired();
}

// Called where no exception may leave: what this needs has been made before.
void GlobalMemory::let_go_of_retired() {
  const uint64_t oldest_user = user_generations_.empty() ? UINT64_MAX : *user_generations_.begin();
  for (; !retired_.empty() && retired_.front().generation < oldest_user; retired_.pop_front()) {
    std::list<Allocation*>& emptied = retired_.front().emptied;
    if (emptied.empty())
      continue;
    Allocation& allocation = *emptied.front();
    if (allocation.when_gone)
      std::exchange(allocation.when_gone, nullptr)();
    allocation.host = nullptr;
    allocation.storage.reset();
    allocation.init.reset();
    retiring_bytes_ -= allocation.taken.bytes();
    allocation.taken = {};
    Quarantine& quarantine = quarantine_of(allocation.base);
    quarantine.bytes += allocation.size_bytes;
    quarantine.all.splice(quarantine.is_too_large(allocation) ? quarantine.all.begin() : quarantine.all.end(),
                          emptied);
  }
}

// --- addresses

HostArena* GlobalMemory::arena_of(uint64_t address) const {
  for (size_t i = arena_count_.load(std::memory_order_acquire); i-- > 0;)
    if (arenas_[i]->addresses().holds(address))
      return arenas_[i].get();
  return nullptr;
}

GlobalMemory::Quarantine& GlobalMemory::quarantine_of(uint64_t address) {
  return device_.holds(address) ? quarantine_ : host_quarantine_;
}

// Users may have found it as a freed one.
void GlobalMemory::forget_oldest(Quarantine& quarantine) {
  const auto known = allocations_.find(quarantine.all.front()->base);
  const auto& [base, allocation] = *known;
  if (HostArena* arena = arena_of(base)) {
    arena->addresses().remove(*allocation);
    arena->forget(base, allocation->size_bytes);
  } else {
    device_.remove(*allocation);
    device_.give_back(base, allocation->size_bytes);
  }
  quarantine.bytes -= allocation->size_bytes;
  quarantine.all.pop_front();
  std::unique_ptr<Allocation> forgotten = std::move(known->second);
  allocations_.erase(known);
  retire({.allocation = std::move(forgotten)});
}

void GlobalMemory::forget_what_is_too_much(Quarantine& quarantine) {
  while (!quarantine.all.empty() &&
         (quarantine.all.size() > kQuarantined || quarantine.bytes > quarantine.most_bytes ||
          quarantine.is_too_large(*quarantine.all.front())))
    forget_oldest(quarantine);
}

// 0: there are none.
uint64_t GlobalMemory::take_address(uint64_t size_bytes) {
  forget_what_is_too_much(quarantine_);
  uint64_t base = device_.take(size_bytes);
  for (; base == 0 && !quarantine_.all.empty(); base = device_.take(size_bytes))
    forget_oldest(quarantine_);
  return base;
}

// Null: there are none, or the host has no memory left.
std::byte* GlobalMemory::take_in_arenas(uint64_t size_bytes) {
  forget_what_is_too_much(host_quarantine_);
  const size_t count = arena_count_.load(std::memory_order_relaxed);
  const auto take = [&]() -> std::byte* {
    for (size_t i = 0; i < count; ++i)
      if (std::byte* memory = arenas_[i]->take(size_bytes))
        return memory;
    return nullptr;
  };
  std::byte* memory = take();
  if (std::unique_ptr<HostArena> more =
          !memory && count < kMostArenas ? HostArena::reserve(size_bytes) : nullptr) {
    memory = more->take(size_bytes);
    arenas_[count] = std::move(more);
    arena_count_.store(count + 1, std::memory_order_release);
  }
  for (; !memory && !host_quarantine_.all.empty(); memory = take())
    forget_oldest(host_quarantine_);
  return memory;
}

// It has its base, an address of the range's.
Allocation* GlobalMemory::keep(std::unique_ptr<Allocation> allocation, AddressAllocator& range) {
  Allocation& kept = *allocation;
  const auto known = allocations_.emplace(kept.base, std::move(allocation)).first;
  try {
    range.put(kept);
  } catch (...) {
    allocations_.erase(known);
    throw;
  }
  return &kept;
}

// --- allocations

void GlobalMemory::publish_host_table() {
  auto table = std::make_unique<HostTable>();
  table->entries.reserve(host_.size());
  uint64_t furthest_end = 0;
  for (const auto& [base, allocation] : host_) {
    furthest_end = std::max(furthest_end, base + allocation->size_bytes);
    table->entries.push_back({.base = base, .furthest_end = furthest_end, .allocation = allocation.get()});
  }
  published_host_table_.store(table.get(), std::memory_order_release);
  retire({.table = std::exchange(host_table_, std::move(table))});
}

Allocation* GlobalMemory::allocate(uint64_t size_bytes, std::string name, bool poisoned) {
  if (size_bytes > kLargestBytes)
    return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->size_bytes = size_bytes;
  allocation->name = std::move(name);
  if (!take_storage(*allocation, budget_, poisoned))
    return nullptr;
  if (poisoned)
    allocation->init = std::make_unique<WrittenBytes>(size_bytes);
  const std::scoped_lock lock(mutex_);
  allocation->base = take_address(size_bytes);
  if (allocation->base == 0)
    return nullptr;
  Allocation* made = keep(std::move(allocation), device_);
  if (poisoned)
    poison_unwritten(*made, seed_);
  return made;
}

Allocation* GlobalMemory::reserve(uint64_t size_bytes, std::string name) {
  if (size_bytes > kLargestBytes)
    return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->size_bytes = size_bytes;
  allocation->name = std::move(name);
  allocation->is_promised = true;
  allocation->freed = true; // as far as find() is concerned
  const std::scoped_lock lock(mutex_);
  allocation->base = take_address(size_bytes);
  if (allocation->base == 0)
    return nullptr;
  promised_bytes_ += size_bytes;
  return keep(std::move(allocation), device_);
}

bool GlobalMemory::commit(uint64_t base) {
  const std::scoped_lock lock(mutex_);
  const auto known = allocations_.find(base);
  if (known == allocations_.end() || !known->second->is_promised)
    return true; // freed since
  Allocation& allocation = *known->second;
  if (!take_storage(allocation, budget_, false)) {
    allocation.taken = {};
    return false;
  }
  allocation.is_promised = false;
  promised_bytes_ -= allocation.size_bytes;
  allocation.freed.store(false, std::memory_order_release);
  return true;
}

// A device malloc's address depends on what else is allocated, so its bytes go by their place in the block.
void GlobalMemory::poison_unwritten(const Allocation& allocation, uint64_t seed) {
  const bool heap = !allocation.storage;
  const uint64_t key = poison_key(seed, heap ? Poisoned::heap : Poisoned::global, heap ? 0 : allocation.base);
  const WrittenBytes& init = *allocation.init;
  for (uint64_t begin = 0; begin < allocation.size_bytes;) {
    begin = init.first_unset(begin, allocation.size_bytes - begin);
    const uint64_t end = init.first_set(begin, allocation.size_bytes - begin);
    poison(allocation.host + begin, key, begin, end - begin);
    begin = end;
  }
}

namespace {

// Its host may have written there, unseen.
bool is_host_shared(const Allocation& allocation) {
  return allocation.storage.get_deleter().arena_bytes != 0;
}

} // namespace

void GlobalMemory::set_seed(uint64_t seed) {
  const std::scoped_lock lock(mutex_);
  if (seed == seed_ || threads_.load() != 0)
    return;
  seed_ = seed;
  for (const auto& [base, allocation] : allocations_)
    if (allocation->init && !allocation->freed && !is_host_shared(*allocation))
      poison_unwritten(*allocation, seed);
  for (const auto& block : heap_blocks_)
    if (!block->freed)
      poison_unwritten(*block, seed);
}

Allocation* GlobalMemory::allocate_host_shared(uint64_t size_bytes, std::string name) {
  if (size_bytes > kLargestBytes)
    return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->size_bytes = size_bytes;
  allocation->name = std::move(name);
  allocation->taken = MemoryShare(budget_);
  allocation->taken.take(size_bytes, allocation->name.empty() ? "a buffer" : allocation->name);
  const std::scoped_lock lock(mutex_);
  std::byte* memory = take_in_arenas(size_bytes);
  if (!memory)
    return nullptr;
  allocation->storage = {memory, FreeDeleter{.arena_bytes = std::max<uint64_t>(allocation->size_bytes, 1)}};
  allocation->host = memory;
  allocation->base = reinterpret_cast<uintptr_t>(memory);
  return keep(std::move(allocation), arena_of(allocation->base)->addresses());
}

void GlobalMemory::register_host(std::byte* host, uint64_t size_bytes, std::string name, bool read_only) {
  const std::scoped_lock lock(mutex_);
  const auto base = reinterpret_cast<uintptr_t>(host);
  std::unique_ptr<Allocation>& known = host_[base];
  if (known && known->size_bytes >= size_bytes) {
    ++known->registrations;
    return;
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->base = base;
  allocation->host = host;
  allocation->size_bytes = size_bytes;
  allocation->name = known ? known->name : std::move(name);
  allocation->registrations = known ? known->registrations + 1 : 1;
  allocation->read_only = read_only;
  if (known)
    retire_host(std::move(known));
  known = std::move(allocation);
  publish_host_table();
}

bool GlobalMemory::unregister_host(uint64_t base) {
  const std::scoped_lock lock(mutex_);
  const auto found = host_.find(base);
  if (found == host_.end() || found->second->registrations == 0)
    return false;
  if (--found->second->registrations == 0)
    remove_host(found);
  return true;
}

void GlobalMemory::retire_host(std::unique_ptr<Allocation> allocation) {
  end_life(*allocation);
  retire({.allocation = std::move(allocation)});
}

void GlobalMemory::remove_host(HostAllocations::iterator which) {
  std::unique_ptr<Allocation> allocation = std::move(which->second);
  host_.erase(which);
  publish_host_table();
  retire_host(std::move(allocation));
}

GlobalMemory::Users::Users(GlobalMemory& memory, uint32_t threads) : memory_(memory), threads_(threads) {
  memory.threads_.fetch_add(threads);
  while (memory.alone_.load()) // for no longer than an instruction takes
    std::this_thread::yield();
  const std::scoped_lock lock(memory.mutex_);
  generation_ = ++memory.generation_;
  memory.user_generations_.insert(generation_);
}

GlobalMemory::Users::~Users() {
  {
    const std::scoped_lock lock(memory_.mutex_);
    memory_.user_generations_.erase(generation_);
    memory_.let_go_of_retired();
  }
  memory_.threads_.fetch_sub(threads_);
}

// The one that holds the address and reaches furthest: ranges may overlap.
Allocation* GlobalMemory::find_host(uint64_t address) const {
  const HostTable* table = published_host_table_.load(std::memory_order_acquire);
  Allocation* best = nullptr;
  for (auto after = table->after(address); after != table->entries.begin();) {
    --after;
    if (after->furthest_end <= address)
      break;
    Allocation* allocation = after->allocation;
    if (allocation->holds(address, 1) &&
        (!best || allocation->base + allocation->size_bytes > best->base + best->size_bytes))
      best = allocation;
  }
  return best;
}

bool GlobalMemory::free(uint64_t base, std::function<void()> when_gone) {
  const std::scoped_lock lock(mutex_);
  const auto known = allocations_.find(base);
  if (known == allocations_.end() || (known->second->freed && !known->second->is_promised))
    return false;
  Allocation& allocation = *known->second;
  std::list<Allocation*> emptied{&allocation};
  if (std::exchange(allocation.is_promised, false))
    promised_bytes_ -= allocation.size_bytes;
  allocation.when_gone = std::move(when_gone);
  end_life(allocation);
  retiring_bytes_ += allocation.taken.bytes();
  retire({.emptied = std::move(emptied)});
  for (Quarantine* quarantine : {&quarantine_, &host_quarantine_})
    forget_what_is_too_much(*quarantine);
  return true;
}

Allocation* GlobalMemory::heap_block_at(uint64_t base) const {
  Allocation* block = heap_table_.around(base).first;
  return block && block->base == base ? block : nullptr;
}

Allocation* GlobalMemory::heap_allocate(uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kHeapBytes)
    return nullptr;
  const std::scoped_lock lock(mutex_);
  if (!heap_) {
    heap_taken_.take(kHeapBytes, "the heap of device malloc");
    heap_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignBytes, kHeapBytes)));
    if (!heap_) {
      heap_taken_.give_back(kHeapBytes);
      return nullptr;
    }
    heap_holes_.emplace(0, kHeapBytes);
  }
  const uint64_t taken = align_up(size_bytes, kHeapAlignBytes);
  const auto hole =
      std::find_if(heap_holes_.begin(), heap_holes_.end(), [&](const auto& h) { return h.second >= taken; });
  if (hole == heap_holes_.end())
    return nullptr;
  std::deque<Allocation*>& reusable = heap_freed_[size_bytes];
  const bool reuses = reusable.size() > kHeapQuarantine;
  if (!reuses)
    heap_taken_.take(sizeof(Allocation) + size_bytes / kWrittenShare, "device malloc");
  const auto [offset, hole_bytes] = *hole;
  heap_holes_.erase(hole);
  if (hole_bytes > taken)
    heap_holes_.emplace(offset + taken, hole_bytes - taken);
  std::byte* host = heap_.get() + offset;

  if (reuses) {
    Allocation* allocation = reusable.front();
    reusable.pop_front();
    allocation->host = host;
    allocation->init->clear();
    poison_unwritten(*allocation, seed_);
    allocation->freed.store(false, std::memory_order_release);
    return allocation;
  }
  auto allocation = std::make_unique<Allocation>();
  allocation->size_bytes = size_bytes;
  allocation->host = host;
  allocation->name = "device malloc";
  allocation->init = std::make_unique<WrittenBytes>(size_bytes);
  poison_unwritten(*allocation, seed_);
  allocation->base = heap_next_;
  heap_next_ += align_up(size_bytes, kAlignBytes) + kAlignBytes;
  heap_blocks_.push_back(std::move(allocation));
  heap_table_.append(heap_blocks_.back().get());
  return heap_blocks_.back().get();
}

HeapFree GlobalMemory::heap_free(uint64_t base) {
  const std::scoped_lock lock(mutex_);
  Allocation* allocation = heap_block_at(base);
  if (!allocation)
    return HeapFree::not_a_block;
  if (allocation->freed)
    return HeapFree::already_freed;
  end_life(*allocation);
  heap_freed_[allocation->size_bytes].push_back(allocation);

  uint64_t offset = static_cast<uint64_t>(allocation->host - heap_.get());
  uint64_t bytes = align_up(allocation->size_bytes, kHeapAlignBytes);
  auto next = heap_holes_.lower_bound(offset);
  if (next != heap_holes_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = heap_holes_.erase(next);
  }
  if (next != heap_holes_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += bytes;
      return HeapFree::done;
    }
  }
  heap_holes_.emplace(offset, bytes);
  return HeapFree::done;
}

Allocation* GlobalMemory::find(uint64_t address) const {
  Allocation* allocation = nullptr;
  if (device_.holds(address))
    allocation = device_.at(address);
  else if (address >= kHeapBase && address < kGlobalEnd)
    allocation = heap_table_.around(address).first;
  else if (const HostArena* arena = arena_of(address))
    allocation = arena->addresses().at(address);
  else
    return find_host(address);
  return allocation && allocation->holds(address, 1) && !allocation->freed.load(std::memory_order_acquire)
             ? allocation
             : nullptr;
}

Translation GlobalMemory::translate(uint64_t address, uint64_t bytes) const {
  const uint64_t now = generation(); // before the look: what is freed meanwhile is not of this one
  Allocation* allocation = find(address);
  if (!allocation || !allocation->holds(address, bytes))
    return {};
  return {.begin = allocation->base,
          .bytes = allocation->size_bytes,
          .host = allocation->host,
          .allocation = allocation,
          .init = allocation->init.get(),
          .generation = now,
          .is_read_only = allocation->read_only};
}

// Nobody finds it from now on; whoever has found it will look again.
void GlobalMemory::end_life(Allocation& allocation) {
  allocation.freed.store(true, std::memory_order_release);
  translations_.fetch_add(1, std::memory_order_release);
}

GlobalMemory::PastEnd GlobalMemory::past_end(uint64_t address, uint64_t bytes) {
  const Allocation* near = nearest(address);
  if (!near || near->freed.load(std::memory_order_relaxed) || near->read_only || !near->host)
    return {};
  const uint64_t end = near->base + near->size_bytes, unit_end = align_up(near->size_bytes, kHugePage);
  const uint64_t most = std::min(unit_end - near->size_bytes, kGuardBytes / 2);
  if (address < end || address - end > most || bytes > most - (address - end))
    return {};
  const std::lock_guard lock(mutex_);
  Tail& tail = tails_[near->base];
  if (!tail.bytes) {
    tail.taken = MemoryShare(budget_);
    tail.taken.take(most, "what is past the end of an allocation");
    tail.bytes = std::make_unique<std::byte[]>(most);
  }
  return {const_cast<Allocation*>(near), tail.bytes.get() + (address - end)};
}

const Allocation* GlobalMemory::nearest(uint64_t address) const {
  const std::scoped_lock lock(mutex_);
  const HostTable* hosts = published_host_table_.load(std::memory_order_acquire);
  const auto host_after = hosts->after(address);
  const Allocation* nearest = nullptr;
  uint64_t least = 0;
  const auto consider = [&](const Allocation* allocation) {
    if (!allocation)
      return;
    const uint64_t past = address - allocation->base;
    const uint64_t distance = address < allocation->base      ? allocation->base - address
                              : past < allocation->size_bytes ? 0
                                                              : past - allocation->size_bytes;
    if (!nearest || distance < least) {
      nearest = allocation;
      least = distance;
    }
  };
  const auto above = allocations_.upper_bound(address);
  consider(above == allocations_.begin() ? nullptr : std::prev(above)->second.get());
  consider(above == allocations_.end() ? nullptr : above->second.get());
  const auto [block_below, block_above] = heap_table_.around(address);
  consider(block_below);
  consider(block_above);
  consider(host_after == hosts->entries.begin() ? nullptr : std::prev(host_after)->allocation);
  consider(host_after == hosts->entries.end() ? nullptr : host_after->allocation);
  return nearest;
}

} // namespace lemma::vgpu

// Entries of the software TLB against what is allocated: random accesses of each size, at the edges of
// allocations above all, while memory comes and goes.
#include "vgpu/memory/translation.h"

#include "vgpu/memory/memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace lemma::vgpu {
namespace {

// As a worker has them.
struct Known {
  Translations entries;
  const Translation* find(const GlobalMemory& memory, uint32_t pc, uint64_t address, uint64_t bytes) {
    const Translation* known = entries.find(pc, address, bytes, memory.generation());
    return known ? known : entries.renew(memory, pc, address, bytes);
  }
};

struct Live {
  std::byte* host = nullptr;
  uint64_t bytes = 0;
  bool is_read_only = false;
};

// What is allocated, by address, beside the memory itself.
class Model {
public:
  explicit Model(uint64_t seed) : random(seed) {}

  void change() {
    const uint64_t size = random() % 4 == 0 ? random() % 65536 + 1 : random() % 700 + 1;
    switch (live.size() > 40 ? 7 : random() % 8) {
    case 0:
    case 1:
      keep(memory.allocate(size, "a", random() % 2 == 0));
      break;
    case 2:
      keep(memory.allocate_host_shared(size, "b"));
      break;
    case 3:
      keep(memory.heap_allocate(size));
      break;
    case 4:
      if (hosts.empty()) {
        hosts.push_back(std::make_unique<std::byte[]>(size));
        memory.register_host(hosts.back().get(), size, "c", true);
        live[reinterpret_cast<uintptr_t>(hosts.back().get())] = {hosts.back().get(), size, true};
      }
      break;
    default:
      if (live.empty())
        return;
      const auto which = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      if (!memory.free(which->first) && !memory.unregister_host(which->first)) {
        EXPECT_EQ(memory.heap_free(which->first), HeapFree::done);
      }
      last_freed = which->first;
      live.erase(which);
    }
  }

  // Near the edges of what is live, or was.
  uint64_t address() {
    if (live.empty() || random() % 16 == 0)
      return last_freed + random() % 64;
    const auto& [base, of] = *std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
    switch (random() % 4) {
    case 0:
      return base - random() % 40;
    case 1:
      return base + of.bytes - random() % 40;
    case 2:
      return base + random() % (of.bytes + 40);
    default:
      return random() % 64 == 0 ? random() : base + random() % of.bytes;
    }
  }

  // Null: no live memory holds all of it.
  const std::byte* host_of(uint64_t address, uint64_t bytes) const {
    auto after = live.upper_bound(address);
    if (after == live.begin())
      return nullptr;
    const auto& [base, of] = *std::prev(after);
    return address - base < of.bytes && bytes <= of.bytes - (address - base) ? of.host + (address - base)
                                                                             : nullptr;
  }

  std::mt19937_64 random;
  GlobalMemory memory;
  std::map<uint64_t, Live> live;
  std::vector<std::unique_ptr<std::byte[]>> hosts;
  uint64_t last_freed = kGlobalBase;

private:
  void keep(Allocation* made) {
    if (made)
      live[made->base] = {made->host, made->size_bytes, false};
  }
};

// LEMMA_TRANSLATIONS: how many accesses; 10^8 take about a minute.
uint64_t accesses() {
  const char* many = std::getenv("LEMMA_TRANSLATIONS");
  return many ? std::strtoull(many, nullptr, 10) : 400'000;
}

TEST(Translation, is_of_live_memory_to_the_byte) {
  constexpr uint64_t kSizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, UINT64_MAX, UINT64_MAX - 64};
  Model model(7);
  Known known;
  uint64_t found = 0;
  for (uint64_t i = 0, most = accesses(); i < most;) {
    for (uint64_t changes = model.random() % 3; changes-- > 0;)
      model.change();
    const GlobalMemory::Users user(model.memory, 1); // a launch
    for (uint64_t end = i + model.random() % 200; i < end; ++i) {
      if (model.random() % 64 == 0) // by the host, or a kernel's free
        model.change();
      const uint64_t address = model.address(), bytes = kSizes[model.random() % std::size(kSizes)];
      const Translation* entry =
          known.find(model.memory, static_cast<uint32_t>(model.random() % 64), address, bytes);
      const std::byte* host = model.host_of(address, bytes);
      ASSERT_EQ(entry ? entry->host + (address - entry->begin) : nullptr, host)
          << std::hex << address << ", " << bytes << " bytes";
      if (!entry)
        continue;
      ++found;
      ASSERT_EQ(entry->is_read_only, entry->allocation->read_only);
      ASSERT_EQ(entry->init, entry->allocation->init.get());
      ASSERT_FALSE(entry->allocation->freed);
    }
  }
  EXPECT_GT(found, accesses() / 10);
}

// Who was told that memory was freed gets no entry of it, whatever others free meanwhile.
TEST(Translation, is_not_of_memory_that_another_thread_has_freed) {
  GlobalMemory memory;
  constexpr int kThreads = 3, kTurns = 300;
  std::atomic<uint64_t> shared{0}; // an address to use
  std::atomic<uint64_t> gone{0};   // the last that was freed
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      Known known;
      uint64_t touched = 0;
      while (!ends) {
        const GlobalMemory::Users user(memory, 1);
        for (int i = 0; i < 50; ++i) {
          if (const uint64_t freed = gone.load(std::memory_order_acquire)) {
            EXPECT_EQ(known.find(memory, 7, freed, 4), nullptr);
          }
          if (const uint64_t address = shared.load(std::memory_order_acquire)) {
            const Translation* found = known.find(memory, 7, address, 4);
            touched +=
                found ? std::to_integer<uint64_t>(*found->host) : 0; // its bytes stay as long as `user`
          }
        }
      }
      EXPECT_EQ(touched, 0u);
    });
  for (int turn = 0; turn < kTurns; ++turn) {
    const Allocation* made = memory.allocate(64, "");
    const uint64_t base = made->base;
    shared.store(base, std::memory_order_release);
    std::this_thread::yield();
    shared.store(0, std::memory_order_release);
    EXPECT_TRUE(memory.free(base));
    gone.store(base, std::memory_order_release);
    std::this_thread::yield();
    gone.store(0, std::memory_order_release); // its address may be given out again
  }
  ends = true;
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace
} // namespace lemma::vgpu

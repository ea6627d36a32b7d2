// The handler may run in the middle of anything: it reads a table of atomics that never moves, makes a system
// call and writes to entries that are its own.
#include "runtime/host_watch.h"

#include "support/align.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace lemma::runtime {
namespace {

// The threads that are aside (zero: none). Not thread-local: a library that is opened late has no such
// storage that a signal handler may read.
constexpr size_t kMostAside = 1024;
std::array<std::atomic<uintptr_t>, kMostAside> asides;

uintptr_t this_thread() {
  return static_cast<uintptr_t>(pthread_self());
}
bool is_aside() {
  const uintptr_t self = this_thread();
  return std::ranges::any_of(asides, [&](const auto& each) { return each.load() == self; });
}

constexpr size_t kMostWatched = 4096; // allocations at a time, of the process

struct Slot {
  std::atomic<uint64_t> begin{0}, end{0};
  std::atomic<HostWatch*> watch{nullptr}; // null: free
  std::atomic<vgpu::Allocation*> allocation{nullptr};

  // The host writes there while kernels run: so far as they ask, all of the page is written.
  void touch(uint64_t address) const;
};

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uintptr_t code_of([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

#if defined(__x86_64__)
constexpr bool kTellsWrites = true;
bool is_write(const ucontext_t& context) {
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
}
#else
constexpr bool kTellsWrites = false; // all are taken for reads
bool is_write(const ucontext_t&) {
  return false;
}
#endif

// Pages of zeros are not touched: they stay holes of the file behind `to`.
void copy_what_is_set(std::byte* to, const std::byte* from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += page_bytes()) {
    const uint64_t count = std::min(page_bytes(), bytes - at);
    if (std::any_of(from + at, from + at + count, [](std::byte byte) { return byte != std::byte{0}; }))
      std::memcpy(to + at, from + at, count);
  }
}

void Slot::touch(uint64_t address) const {
  const vgpu::Allocation* of = allocation.load();
  if (!of || !of->init || address >= of->base + of->size_bytes)
    return;
  const uint64_t page = std::max(address / page_bytes() * page_bytes(), of->base);
  of->init->set(page - of->base, std::min(page + page_bytes(), of->base + of->size_bytes) - page);
}

} // namespace

struct HostWatchSignals {
  static std::array<Slot, kMostWatched>& slots() {
    static auto* all = new std::array<Slot, kMostWatched>; // for the process's life
    return *all;
  }
  static inline std::array<Slot, kMostWatched>* table = nullptr; // for the handler
  static inline struct sigaction before{};

  static void install() {
    static std::once_flag once;
    std::call_once(once, [] {
      table = &slots();
      struct sigaction action{};
      action.sa_sigaction = handle;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigemptyset(&action.sa_mask);
      sigaction(SIGSEGV, &action, &before);
    });
  }

  static void handle(int signal, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (info->si_code == SEGV_ACCERR)
      for (Slot& slot : *table)
        if (HostWatch* watch = slot.watch.load(std::memory_order_acquire);
            watch && address >= slot.begin.load() && address < slot.end.load()) {
          const auto& machine = *static_cast<const ucontext_t*>(context);
          if (is_write(machine) || !kTellsWrites)
            slot.touch(address);
          watch->note({.address = address, .code = code_of(machine), .writes = is_write(machine)});
          return;
        }
    pass_on(signal, info, context);
  }

  // As if this handler were not there.
  static void pass_on(int signal, siginfo_t* info, void* context) {
    if (before.sa_flags & SA_SIGINFO) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
      sigaction(SIGSEGV, &before, nullptr); // the instruction faults again, and nobody catches it
    } else {
      before.sa_handler(signal);
    }
  }
};

void HostWatch::forget_all() {
  while (!mappings_.empty())
    forget(mappings_.begin()->first).let_go();
}

// The program's mapping is replaced by one of a file in memory, which the kernels' maps too.
bool HostWatch::watch(vgpu::Allocation& allocation) {
  HostWatchSignals::install();
  const std::scoped_lock lock(mutex_);
  auto& slots = HostWatchSignals::slots();
  const auto slot = std::ranges::find_if(slots, [](const Slot& each) { return !each.watch.load(); });
  const uint64_t bytes = align_up(std::max<uint64_t>(allocation.size_bytes, 1), page_bytes());
  const int file = slot == slots.end() ? -1 : memfd_create("lemma", MFD_CLOEXEC);
  if (file < 0)
    return false;
  void* alias = ftruncate(file, static_cast<off_t>(bytes)) == 0
                    ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                    : MAP_FAILED;
  if (alias == MAP_FAILED) {
    close(file);
    return false;
  }
  copy_what_is_set(static_cast<std::byte*>(alias), allocation.host, allocation.size_bytes);
  if (mmap(allocation.host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    munmap(alias, bytes);
    close(file);
    return false;
  }
  allocation.host = static_cast<std::byte*>(alias);
  slot->begin = allocation.base;
  slot->end = allocation.base + bytes;
  slot->allocation = &allocation;
  slot->watch.store(this, std::memory_order_release);
  mappings_[allocation.base] = {.alias = allocation.host,
                                .bytes = bytes,
                                .file = file,
                                .slot = static_cast<size_t>(slot - slots.begin()),
                                .allocation = &allocation};
  return true;
}

// The file has a page for each that was touched.
void HostWatch::find_written(const Mapping& mapping) {
  vgpu::Allocation& allocation = *mapping.allocation;
  if (!allocation.init || allocation.init->all_set(0, allocation.size_bytes))
    return;
  for (off_t at = 0; static_cast<uint64_t>(at) < allocation.size_bytes;) {
    const off_t begin = lseek(mapping.file, at, SEEK_DATA);
    if (begin < 0 || static_cast<uint64_t>(begin) >= allocation.size_bytes)
      return;
    at = lseek(mapping.file, begin, SEEK_HOLE);
    if (at < 0)
      return;
    const auto first = static_cast<uint64_t>(begin);
    allocation.init->set(first, std::min(static_cast<uint64_t>(at), allocation.size_bytes) - first);
  }
}

void HostWatch::find_written() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [base, mapping] : mappings_)
    find_written(mapping);
}

void HostWatch::find_written(vgpu::Allocation& allocation) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = mappings_.find(allocation.base); found != mappings_.end())
    find_written(found->second);
}

void HostWatch::leave_alone(uint64_t base) {
  const std::scoped_lock lock(mutex_);
  const auto found = mappings_.find(base);
  if (found == mappings_.end())
    return;
  // The slot stays: another thread may be in the handler on account of it.
  HostWatchSignals::slots()[found->second.slot].end = base;
  mprotect(reinterpret_cast<void*>(base), found->second.bytes, PROT_READ | PROT_WRITE);
}

HostWatch::Ended HostWatch::forget(uint64_t base) {
  const std::scoped_lock lock(mutex_);
  const auto found = mappings_.find(base);
  if (found == mappings_.end())
    return {};
  const Mapping mapping = found->second;
  mappings_.erase(found);
  HostWatchSignals::slots()[mapping.slot].allocation = nullptr;
  HostWatchSignals::slots()[mapping.slot].watch.store(nullptr, std::memory_order_release);
  close(mapping.file);
  return {.alias = mapping.alias, .base = base, .bytes = mapping.bytes};
}

// Nobody has the memory any more: its address becomes what it was before it was allocated.
void HostWatch::Ended::let_go() const {
  if (!alias)
    return;
  munmap(alias, bytes);
  mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void HostWatch::protect_all(int protection) {
  for (const auto& [base, mapping] : mappings_)
    if (HostWatchSignals::slots()[mapping.slot].end.load() != base) // else it is left alone
      mprotect(reinterpret_cast<void*>(base), mapping.bytes, protection);
}

void HostWatch::begin() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  protect_all(PROT_NONE);
}

void HostWatch::end() {
  const std::scoped_lock lock(mutex_);
  if (!is_closed_.exchange(false))
    return;
  protect_all(PROT_READ | PROT_WRITE);
}

void HostWatch::note(const Touch& touch) {
  if (is_closed_.load() && !is_aside()) {
    uint64_t mine = next_.load();
    bool has_room = false;
    do
      has_room = mine - taken_.load() < kMostTouches;
    while (has_room && !next_.compare_exchange_weak(mine, mine + 1));
    if (has_room) {
      Entry& entry = touches_[mine % kMostTouches];
      entry.touch = touch;
      entry.is_complete.store(true, std::memory_order_release);
    }
  }
  const uint64_t page = touch.address / page_bytes() * page_bytes();
  mprotect(reinterpret_cast<void*>(page), page_bytes(),
           touch.writes || !kTellsWrites ? PROT_READ | PROT_WRITE : PROT_READ);
}

std::vector<HostWatch::Touch> HostWatch::take() {
  std::vector<Touch> all;
  uint64_t at = taken_.load();
  for (; at != next_.load(); ++at) {
    Entry& entry = touches_[at % kMostTouches];
    if (!entry.is_complete.load(std::memory_order_acquire))
      break; // a handler is at it
    all.push_back(entry.touch);
    entry.is_complete.store(false, std::memory_order_relaxed);
  }
  taken_.store(at);
  return all;
}

HostWatch::Aside::Aside() {
  for (auto& each : asides)
    if (uintptr_t none = 0; each.compare_exchange_strong(none, this_thread())) {
      place_ = &each;
      return;
    }
}
HostWatch::Aside::~Aside() {
  if (place_)
    place_->store(0);
}

std::string name_of_code(uintptr_t code) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(code), &info) == 0 || !info.dli_fname)
    return fmt::format("{:#x}", code);
  const char* slash = std::strrchr(info.dli_fname, '/');
  const std::string file = slash ? slash + 1 : info.dli_fname;
  if (!info.dli_sname)
    return fmt::format("{} + {:#x}", file, code - reinterpret_cast<uintptr_t>(info.dli_fbase));
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), std::free);
  return fmt::format("{} + {:#x} ({})", status == 0 ? demangled.get() : info.dli_sname,
                     code - reinterpret_cast<uintptr_t>(info.dli_saddr), file);
}

void leave_host_accesses_alone(uint64_t base) {
  for (Slot& slot : HostWatchSignals::slots())
    if (HostWatch* watch = slot.watch.load(); watch && slot.begin.load() == base)
      watch->leave_alone(base);
}

} // namespace lemma::runtime

// A bit a byte for each use, in pages that were touched. Shards by page, each under a mutex of its own:
// workers of a launch rarely meet there.
#include "check/footprint.h"

#include "vgpu/memory/place.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace lemma::check {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kFootprintShards = 64;
constexpr size_t kWords = kPageBytes / 64;

using Bytes = std::array<uint64_t, kWords>; // bit i % 64 of word i / 64: byte i

void set(Bytes& bytes, uint64_t begin, uint64_t count) {
  for (const uint64_t end = begin + count; begin < end;) {
    const uint64_t bit = begin % 64, here = std::min(end - begin, 64 - bit);
    bytes[begin / 64] |= (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << bit;
    begin += here;
  }
}

constexpr size_t index(Use use) {
  return static_cast<size_t>(use);
}

} // namespace

struct Footprint::Page {
  std::array<Bytes, kUses> bytes{};
  std::array<bool, kUses> is_used{};
  std::array<Statement, kUses> first{};

  uint64_t at(Use use, size_t word) const { return bytes[index(use)][word]; }
  uint64_t written(size_t word) const { return at(Use::weak_write, word) | at(Use::strong_write, word); }
  uint64_t weak(size_t word) const { return at(Use::weak_read, word) | at(Use::weak_write, word); }
  uint64_t used(size_t word) const {
    return weak(word) | at(Use::strong_read, word) | at(Use::strong_write, word);
  }
  // How the byte is used: a write is worse than a read.
  Use use_of(uint64_t byte) const {
    for (const Use use : {Use::weak_write, Use::strong_write, Use::weak_read})
      if (at(use, byte / 64) >> byte % 64 & 1)
        return use;
    return Use::strong_read;
  }
};

struct Footprint::Shard {
  std::mutex mutex;
  std::unordered_map<uint64_t, Page> pages; // by address / kPageBytes
};

Footprint::Footprint() : shards_(std::make_unique<Shard[]>(kFootprintShards)) {}
Footprint::~Footprint() = default;

class Footprint::Adder {
public:
  explicit Adder(Footprint& footprint) : footprint_(footprint) {}

  // who(): the Statement, asked for where it is the first in its page.
  template <class Who>
  void add(uint64_t address, uint64_t bytes, Use use, const Who& who) {
    while (bytes > 0) {
      const uint64_t number = address / kPageBytes, begin = address % kPageBytes;
      const uint64_t here = std::min(bytes, kPageBytes - begin);
      Page& page = page_of(number);
      if (!std::exchange(page.is_used[index(use)], true))
        page.first[index(use)] = who();
      set(page.bytes[index(use)], begin, here);
      address += here;
      bytes -= here;
    }
  }

private:
  Page& page_of(uint64_t number) {
    if (page_ && number == number_)
      return *page_;
    lock_ = {}; // before the next: two threads may want each other's
    Shard& shard = footprint_.shards_[number % kFootprintShards];
    lock_ = std::unique_lock(shard.mutex);
    number_ = number;
    page_ = &shard.pages[number];
    return *page_;
  }

  Footprint& footprint_;
  std::unique_lock<std::mutex> lock_; // of the page's shard
  uint64_t number_ = 0;
  Page* page_ = nullptr; // null: none yet
};

void Footprint::add(uint64_t address, uint64_t bytes, Use use, const Statement& who) {
  Adder(*this).add(address, bytes, use, [&] { return who; });
}

void Footprint::forget(uint64_t address, uint64_t bytes) {
  const auto forget_in = [&](uint64_t number, Page& page) {
    const uint64_t begin = std::max(address, number * kPageBytes);
    const uint64_t end = std::min(address + bytes, (number + 1) * kPageBytes);
    if (begin >= end)
      return;
    Bytes gone{};
    set(gone, begin % kPageBytes, end - begin);
    for (Bytes& used : page.bytes)
      for (size_t word = 0; word < kWords; ++word)
        used[word] &= ~gone[word];
  };
  constexpr uint64_t kFew = 64; // pages: cheaper to look up than to visit all
  const uint64_t first = address / kPageBytes, last = (address + bytes) / kPageBytes;
  if (last - first >= kFew) {
    for (size_t s = 0; s < kFootprintShards; ++s)
      for (auto& [number, page] : shards_[s].pages)
        forget_in(number, page);
    return;
  }
  for (uint64_t number = first; number <= last; ++number) {
    auto& pages = shards_[number % kFootprintShards].pages;
    if (const auto found = pages.find(number); found != pages.end())
      forget_in(number, found->second);
  }
}

bool Footprint::is_empty() const {
  return std::all_of(&shards_[0], &shards_[kFootprintShards],
                     [](const Shard& shard) { return shard.pages.empty(); });
}

void Footprint::finish() {
  for (size_t s = 0; s < kFootprintShards; ++s)
    for (const auto& [number, page] : shards_[s].pages)
      for (const Statement& who : page.first)
        if (who.instruction && !places_.contains(who.instruction))
          places_.emplace(who.instruction, vgpu::place_of(*who.code, who.instruction));
}

std::optional<Meeting> first_meeting(const Footprint& a, const Footprint& b) {
  Meeting meeting;
  for (size_t s = 0; s < kFootprintShards; ++s)
    for (const auto& [number, ours] : a.shards_[s].pages) {
      const auto found = b.shards_[s].pages.find(number);
      if (found == b.shards_[s].pages.end())
        continue;
      const Footprint::Page& theirs = found->second;
      for (size_t word = 0; word < kWords; ++word) {
        meeting.may_be_ordered |=
            (ours.at(Use::strong_write, word) & theirs.at(Use::strong_read, word)) != 0 ||
            (theirs.at(Use::strong_write, word) & ours.at(Use::strong_read, word)) != 0;
        const uint64_t both =
            ((ours.written(word) & theirs.used(word)) | (theirs.written(word) & ours.used(word))) &
            (ours.weak(word) | theirs.weak(word));
        if (both == 0)
          continue;
        const uint64_t byte = word * 64 + static_cast<uint64_t>(std::countr_zero(both));
        const uint64_t address = number * kPageBytes + byte;
        if (meeting.bytes == 0 || address < meeting.address) {
          meeting.address = address;
          meeting.use_of_a = ours.use_of(byte);
          meeting.use_of_b = theirs.use_of(byte);
          meeting.a = ours.first[index(meeting.use_of_a)];
          meeting.b = theirs.first[index(meeting.use_of_b)];
        }
        meeting.bytes += static_cast<uint64_t>(std::popcount(both));
      }
    }
  return meeting.bytes ? std::optional(meeting) : std::nullopt;
}

// --- a launch's

namespace {

// No pointer of the host's.
bool is_of_the_device_alone(uint64_t address) {
  return address >= vgpu::kGlobalBase && address < vgpu::kGlobalEnd;
}

bool is_strong(const vgpu::MemoryOrder& order) {
  return order.semantics != vgpu::Semantics::weak &&
         (order.scope == vgpu::MemoryScope::gpu || order.scope == vgpu::MemoryScope::sys);
}

} // namespace

void FootprintObserver::accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) {
  const vgpu::Access& what = access.access;
  if (!what.allocation)
    return;
  const bool strong = is_strong(what.order);
  const bool reads = what.kind != vgpu::AccessKind::write, writes = vgpu::writes(what.kind);
  if (strong && !is_of_the_device_alone(what.allocation->base))
    footprint_.note_talk_to_host();
  Footprint::Adder footprint(footprint_);
  access.each([&](int piece, uint64_t offset) {
    const auto who = [&] {
      return Statement::at(x, access.by_lane ? vgpu::LaneMask{1} << piece : what.lanes);
    };
    const uint64_t address = what.allocation->base + offset;
    if (reads)
      footprint.add(address, access.piece_bytes, strong ? Use::strong_read : Use::weak_read, who);
    if (writes)
      footprint.add(address, access.piece_bytes, strong ? Use::strong_write : Use::weak_write, who);
  });
}

void FootprintObserver::issues(const vgpu::Exec&, const vgpu::AsyncOperation& operation) {
  const Statement who = Statement::of(operation.issuer);
  const auto add = [&](const vgpu::MemoryPlace& place, uint64_t bytes, Use use) {
    if (place.allocation)
      footprint_.add(place.allocation->base + place.offset, bytes, use, who);
  };
  operation.each_source(
      [&](const vgpu::MemoryPlace& place, uint64_t bytes) { add(place, bytes, Use::weak_read); });
  operation.each_destination([&](const vgpu::MemoryPlace& place, uint64_t bytes) {
    if (operation.reduce)
      add(place, bytes, Use::strong_read);
    add(place, bytes, operation.reduce ? Use::strong_write : Use::weak_write);
  });
}

void FootprintObserver::synchronizes(const vgpu::Exec&, const vgpu::Synchronization& sync) {
  if (sync.kind == vgpu::SyncKind::grid_wait)
    footprint_.note_grid_wait();
}

} // namespace lemma::check

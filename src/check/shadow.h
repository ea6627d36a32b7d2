// Shadow memory: for every place that was accessed, who wrote it last and who has read it since. A place is a
// granule of 128 bytes as long as all accesses to its page are whole granules, else of as many as all have
// been.
//
// Tests: tests/unit/check/shadow_test.cc.
#pragma once

#include "check/access_sets.h"
#include "check/record.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace lemma::check {

struct Cell {
  static constexpr uint32_t kSet = 0x80000000u; // in `since`: the number of a set
  Records::Id write = 0;                        // the last weak one; 0: none since the launch began
  // Reads and strong writes since then; 0: none. One access as Records::Id, or a set: in both, lanes are
  // counted from the cell's position in its page (access_sets.h).
  uint32_t since = 0;
};

class Page {
public:
  static constexpr uint64_t kBytes = 1024;

  // Calls f(cell, offset of its first byte in the page) for the cells of [begin, begin + bytes), which are
  // accessed by pieces of so many. `sets`: that the cells name.
  template <class F>
  void each(uint64_t begin, uint64_t bytes, uint64_t piece_bytes, AccessSets& sets, F&& f) {
    const uint64_t bits = begin | bytes | piece_bytes;
    const uint32_t granule = cells_.empty() ? 0 : granule_;
    if (granule == 0 || (bits & (granule - 1)) != 0) [[unlikely]]
      refine(bits, sets);
    const uint64_t end = begin + bytes;
    for (uint64_t at = begin; at < end; at += granule_)
      f(cells_[at / granule_], at);
  }
  uint32_t granule() const { return granule_; }
  uint64_t shadow_bytes() const { return cells_.capacity() * sizeof(Cell); }

  std::atomic_flag busy; // a page of global memory: several threads

private:
  static constexpr uint32_t kCoarsest = 128;

  void refine(uint64_t bits, AccessSets& sets); // to granules that divide it

  uint32_t granule_ = kCoarsest;
  std::vector<Cell> cells_;
};

// Memory that was accessed, by whole pages, and what is remembered of it.
struct ShadowSize {
  uint64_t accessed_bytes = 0, remembered_bytes = 0;
  ShadowSize& operator+=(const ShadowSize& other) {
    accessed_bytes += other.accessed_bytes;
    remembered_bytes += other.remembered_bytes;
    return *this;
  }
};

// Of one allocation, or of one CTA's shared memory.
class Shadow {
public:
  // `sets`: that its cells name.
  Shadow(uint64_t bytes, AccessSets& sets) : sets_(sets), pages_((bytes + Page::kBytes - 1) / Page::kBytes) {}
  ~Shadow();
  Shadow(const Shadow&) = delete;

  // Calls f(cell, offset) for the cells of a range that lies within; it is accessed as a whole, or by pieces
  // that divide a page.
  template <class F>
  void each(uint64_t offset, uint64_t bytes, F&& f) {
    each(offset, bytes, bytes, f);
  }
  template <class F>
  void each(uint64_t offset, uint64_t bytes, uint64_t piece_bytes, F&& f) {
    while (bytes > 0) {
      const uint64_t in_page = offset % Page::kBytes;
      const uint64_t count = std::min(bytes, Page::kBytes - in_page);
      Page& page = this->page(offset / Page::kBytes);
      const uint64_t first = offset - in_page;
      if (shared_by_threads)
        while (page.busy.test_and_set(std::memory_order_acquire)) {
        }
      page.each(in_page, count, piece_bytes, sets_, [&](Cell& cell, uint64_t at) { f(cell, first + at); });
      if (shared_by_threads)
        page.busy.clear(std::memory_order_release);
      offset += count;
      bytes -= count;
    }
  }
  // Of the page of a place that was accessed.
  uint32_t granule(uint64_t offset) const { return pages_[offset / Page::kBytes].load()->granule(); }
  uint64_t bytes() const { return pages_.size() * Page::kBytes; }
  ShadowSize size() const;

  bool shared_by_threads = false;

private:
  Page& page(uint64_t index) {
    Page* page = pages_[index].load(std::memory_order_acquire);
    return page ? *page : add_page(index);
  }
  Page& add_page(uint64_t index);

  AccessSets& sets_;
  std::vector<std::atomic<Page*>> pages_;
};

} // namespace lemma::check

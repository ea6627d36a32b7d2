// Shadow memory: for every place that was accessed, who wrote it last and who has read it since. A place is a
// granule of 128 bytes as long as all accesses to its page are whole granules, else of as many as all have
// been.
//
// Tests: tests/unit/check/shadow_test.cc.
#pragma once

#include "check/access_sets.h"
#include "check/record.h"
#include "check/spin.h"
#include "check/updates.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
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
    divide(begin | bytes | piece_bytes, sets);
    const uint64_t end = begin + bytes;
    for (uint64_t at = begin; at < end; at += granule())
      f(cells_[at >> shift_], at);
  }
  // The same for cells side by side, in one go: f(the first cell, how many, offset of the first).
  template <class F>
  void each_row(uint64_t begin, uint64_t bytes, uint64_t piece_bytes, AccessSets& sets, F&& f) {
    divide(begin | bytes | piece_bytes, sets);
    f(&cells_[begin >> shift_], bytes >> shift_, begin);
  }
  // Whether a place of so many bytes is one cell, of which quick(cell, its position) says so.
  template <class Q>
  bool at_place(uint64_t in_page, uint64_t bytes, Q&& quick) {
    return bytes == granule() && !cells_.empty() && (in_page & (bytes - 1)) == 0 &&
           quick(cells_[in_page >> shift_], position(in_page));
  }
  Cell peek(uint64_t in_page) const { return cells_.empty() ? Cell() : cells_[in_page >> shift_]; }
  uint32_t granule() const { return 1u << shift_; }
  // Of the cell that has the byte.
  uint32_t position(uint64_t in_page) const { return static_cast<uint32_t>(in_page >> shift_); }
  // What it has of accesses before that time is forgotten, and the sets are nobody's.
  void forget_before(uint32_t time) {
    if (time_ == time)
      return;
    time_ = time;
    std::fill(cells_.begin(), cells_.end(), Cell());
  }
  uint64_t shadow_bytes() const {
    return cells_.capacity() * sizeof(Cell) + (updates ? updates->size_bytes() : 0);
  }
  bool is_untouched() const { return cells_.empty() && !updates; }

  std::unique_ptr<Updates> updates; // all that was done to the page; null: what the cells have
  std::atomic_flag busy;            // a page of global memory: several threads

private:
  static constexpr uint32_t kCoarsestShift = 7;

  void divide(uint64_t bits, AccessSets& sets) {
    if (cells_.empty() || (bits & (granule() - 1)) != 0) [[unlikely]]
      refine(bits, sets);
  }
  void refine(uint64_t bits, AccessSets& sets); // to granules that divide it

  uint32_t shift_ = kCoarsestShift; // a granule is 1 << so many bytes
  uint32_t time_ = 0;
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
    each_page(offset, bytes, [&](Page& page, uint64_t first, uint64_t in_page, uint64_t count) {
      page.each(in_page, count, piece_bytes, sets_, [&](Cell& cell, uint64_t at) { f(cell, first + at); });
    });
  }
  // The same by rows of cells in one page: f(the first cell, how many, offset of the first).
  template <class F>
  void each_row(uint64_t offset, uint64_t bytes, uint64_t piece_bytes, F&& f) {
    each_page(offset, bytes, [&](Page& page, uint64_t first, uint64_t in_page, uint64_t count) {
      page.each_row(in_page, count, piece_bytes, sets_,
                    [&](Cell* cells, uint64_t number, uint64_t at) { f(cells, number, first + at); });
    });
  }
  // An atomic operation as Updates has them. Calls f(what the page has of them), and is true; or false, where
  // something else was done to the page.
  template <class F>
  bool update(uint64_t offset, uint32_t bytes, F&& f) {
    Page& page = this->page(offset / Page::kBytes);
    lock(page);
    if (page.is_untouched())
      page.updates = std::make_unique<Updates>(bytes, Page::kBytes);
    const bool may = page.updates && page.updates->bytes() == bytes;
    if (may)
      f(*page.updates);
    unlock(page);
    return may;
  }
  // Enters what a page has of them, which begins at that offset, in its cells; the page is the caller's
  // meanwhile.
  using EntersUpdates = std::function<void(Page& page, uint64_t offset, const Updates& updates)>;
  EntersUpdates enters_updates;
  // The same for one cell, of which the place is all, if it is; else as each(). `quick(cell, position in the
  // page)`: false, where f is to be called after all.
  template <class Q, class F>
  void each_of_place(uint64_t offset, uint64_t bytes, Q&& quick, F&& f) {
    Page& page = this->page(offset / Page::kBytes);
    lock(page);
    const bool done = !page.updates && page.at_place(offset % Page::kBytes, bytes, quick);
    unlock(page);
    if (!done)
      each(offset, bytes, f);
  }
  // What a cell is, as far as that is seen at once; of memory that one thread has.
  Cell peek(uint64_t offset) const {
    const Page* page =
        offset < bytes() ? pages_[offset / Page::kBytes].load(std::memory_order_relaxed) : nullptr;
    return page ? page->peek(offset % Page::kBytes) : Cell();
  }
  // Everything that it has is of no use any more, and the sets of its cells are nobody's.
  void forget() { ++time_; }
  // Of the page of a place that was accessed.
  uint32_t granule(uint64_t offset) const { return page_of(offset).granule(); }
  uint32_t position(uint64_t offset) const { return page_of(offset).position(offset % Page::kBytes); }
  uint64_t bytes() const { return pages_.size() * Page::kBytes; }
  ShadowSize size() const;

  bool shared_by_threads = false;

private:
  const Page& page_of(uint64_t offset) const {
    return *pages_[offset / Page::kBytes].load(std::memory_order_relaxed);
  }
  // Calls f(page, its offset, where in it the part begins, bytes of the part) for the parts of a range.
  template <class F>
  void each_page(uint64_t offset, uint64_t bytes, F&& f) {
    while (bytes > 0) {
      const uint64_t in_page = offset % Page::kBytes;
      const uint64_t count = std::min(bytes, Page::kBytes - in_page);
      Page& page = this->page(offset / Page::kBytes);
      lock(page);
      if (page.updates) [[unlikely]]
        enters_updates(page, offset - in_page, *std::exchange(page.updates, {}));
      f(page, offset - in_page, in_page, count);
      unlock(page);
      offset += count;
      bytes -= count;
    }
  }
  void lock(Page& page) const {
    if (!shared_by_threads)
      page.forget_before(time_);
    else
      acquire(page.busy);
  }
  void unlock(Page& page) const {
    if (shared_by_threads)
      page.busy.clear(std::memory_order_release);
  }
  Page& page(uint64_t index) {
    Page* page = pages_[index].load(std::memory_order_acquire);
    return page ? *page : add_page(index);
  }
  Page& add_page(uint64_t index);

  AccessSets& sets_;
  uint32_t time_ = 0; // that counts the calls of forget(): of pages that one thread has
  std::vector<std::atomic<Page*>> pages_;
};

} // namespace lemma::check

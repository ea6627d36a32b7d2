// The last atomic operations on the words of a page of global memory that nothing else has accessed since the
// launch began: relaxed ones of one size whose values nobody takes, and which release nothing - counters,
// histograms. They do not race with each other; whoever comes next enters them in the page's cells and in the
// strong writes of its words (sync_location.h). Until then one costs little more than its count.
//
// Tests: tests/unit/check/updates_test.cc.
#pragma once

#include "check/access_sets.h"
#include "check/handover.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lemma::check {

class Updates {
public:
  static constexpr uint32_t kMost = 8; // of a word, that are remembered

  // Of words of so many bytes, of a page.
  Updates(uint32_t bytes, uint64_t page_bytes) : bytes_(bytes), words_(page_bytes / bytes) {}

  uint32_t bytes() const { return bytes_; }
  // Lanes have updated the word at that offset in the page. `knew`: what preceded it.
  void add(uint64_t in_page, const AccessSets::Member& by, const std::shared_ptr<const Known>& knew) {
    if (by.record != last_record_ || knew != last_knew_)
      note(by.record, knew);
    Word& word = words_[in_page / bytes_];
    AccessSets::Member& last = word.last[(word.count - 1) % kMost];
    if (word.count != 0 && last.record == by.record)
      last.lanes |= by.lanes;
    else
      word.last[word.count++ % kMost] = by;
  }
  // Calls f(offset in the page, whoever has updated it) for each, in the order of the words, and of each in
  // theirs.
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint32_t n = words_[i].count - std::min(words_[i].count, kMost); n != words_[i].count; ++n)
        f(i * bytes_, words_[i].last[n % kMost]);
  }
  const std::shared_ptr<const Known>& knew(uint32_t record) const { return knew_.at(record); }
  uint64_t size_bytes() const {
    return sizeof *this + words_.capacity() * sizeof(Word) + knew_.size() * 2 * sizeof *knew_.begin();
  }

private:
  static constexpr size_t kMostRecords = 16384; // before those are looked for that no word has any more
  struct Word {
    uint32_t count = 0;
    std::array<AccessSets::Member, kMost> last;
  };
  void note(uint32_t record, const std::shared_ptr<const Known>& knew) {
    if (knew_.size() >= kMostRecords) {
      decltype(knew_) kept;
      each([&](uint64_t, const AccessSets::Member& by) { kept[by.record] = knew_[by.record]; });
      knew_.swap(kept);
    }
    knew_[record] = knew;
    last_record_ = record;
    last_knew_ = knew;
  }

  uint32_t bytes_;
  std::vector<Word> words_;
  std::unordered_map<uint32_t, std::shared_ptr<const Known>> knew_; // by record
  uint32_t last_record_ = 0;
  std::shared_ptr<const Known> last_knew_;
};

} // namespace lemma::check

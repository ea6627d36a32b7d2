// Pages of a CTA's shared memory that are known to be wholly written. Each byte has a mark
// (Cta::shared_written), and looking at those of a warp's access takes as long as the access; a page that was
// found to have them all is remembered, so that whoever reads there looks at none and whoever writes there
// sets none.
//
// Tests: tests/unit/vgpu/memory_test.cc, unwritten_test.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace lemma::vgpu {

class WrittenPages {
public:
  static constexpr uint32_t kPageShift = 10;
  // More than any machine's shared memory has; of what lies beyond nothing is known.
  static constexpr uint64_t kMostBytes = uint64_t{512} << kPageShift;

  // Are all pages known that the range, not empty, touches?
  [[gnu::always_inline]] bool hold(uint64_t offset, uint64_t bytes) const {
    const uint64_t end = offset + bytes;
    if (end > kMostBytes)
      return false;
    const auto last = static_cast<uint32_t>((end - 1) >> kPageShift);
    uint32_t page = static_cast<uint32_t>(offset >> kPageShift);
    for (; page / kInWord < last / kInWord; page = (page / kInWord + 1) * kInWord)
      if (~known_[page / kInWord] >> page % kInWord != 0)
        return false;
    return (~known_[page / kInWord] >> page % kInWord & ~uint32_t{0} >> (kInWord - 1 - (last - page))) == 0;
  }
  // The same of at most a page's bytes below kMostBytes.
  [[gnu::always_inline]] bool hold_short(uint32_t offset, uint32_t bytes) const {
    const uint32_t first = offset >> kPageShift, last = (offset + bytes - 1) >> kPageShift;
    return (known_[first / kInWord] >> first % kInWord & known_[last / kInWord] >> last % kInWord & 1) != 0;
  }
  // The same after a look at the marks, one a byte of the memory, of those that are not known. Where looks
  // keep finding holes, as between padded rows, only few of them are made.
  [[gnu::always_inline]] bool learn(std::span<const uint8_t> marks, uint64_t offset, uint64_t bytes) {
    return hold(offset, bytes) ||
           ((vain_ < kMostInVain || ++vain_ % kMostInVain == 0) && look(marks, offset, bytes));
  }
  // Some byte of each page that the range touches is not written any more.
  void forget(uint64_t offset, uint64_t bytes) {
    ++forgotten_;
    for (uint64_t page = offset >> kPageShift; page << kPageShift < std::min(offset + bytes, kMostBytes);
         ++page)
      known_[page / kInWord] &= ~(uint32_t{1} << page % kInWord);
  }

  // How often something was forgotten: as long as it is the same, what is written stays so.
  uint32_t forgotten() const { return forgotten_; }

  // Bit i of word w: page 32 w + i is known.
  static constexpr uint32_t kInWord = 32;
  using Words = std::array<uint32_t, kMostBytes / (uint64_t{kInWord} << kPageShift)>;
  const Words& words() const { return known_; }

private:
  [[gnu::noinline]] bool look(std::span<const uint8_t> marks, uint64_t offset, uint64_t bytes) {
    if (offset + bytes > std::min<uint64_t>(marks.size(), kMostBytes))
      return false;
    ++vain_;
    for (uint64_t page = offset >> kPageShift; page << kPageShift < offset + bytes; ++page) {
      uint32_t& word = known_[page / kInWord];
      const uint32_t bit = uint32_t{1} << page % kInWord;
      if (word & bit)
        continue;
      const std::span of_page = marks.subspan(page << kPageShift);
      if (std::memchr(of_page.data(), 0, std::min<size_t>(of_page.size(), size_t{1} << kPageShift)))
        return false;
      word |= bit;
    }
    vain_ = 0;
    return true;
  }

  static constexpr uint32_t kMostInVain = 64;
  alignas(64) Words known_{};
  uint32_t forgotten_ = 0;
  uint32_t vain_ = 0; // looks in a row that found a hole, and those that were spared since there were many
};

} // namespace lemma::vgpu

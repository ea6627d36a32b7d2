// Which bytes of an allocation were ever written, for reads before the first write. A page that is wholly
// written, or not at all, costs a byte and a pointer; one that is written in part has a bit for each byte.
//
// Any thread may set, unset and ask at the same time; nothing is ordered by it. Bits are set and unset by
// relaxed atomics, and who makes a word of 64 bits full, or not full any more, counts it for its page: so a
// page counts as whole when its last word is, whoever has written which part of it.
//
// Tests: tests/unit/vgpu/written_bytes_test.cc, memory_test.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace lemma::vgpu {

class WrittenBytes {
public:
  static constexpr uint64_t kPageShift = 12;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  // None is.
  explicit WrittenBytes(uint64_t bytes);
  ~WrittenBytes();
  WrittenBytes(const WrittenBytes&) = delete;
  WrittenBytes& operator=(const WrittenBytes&) = delete;

  // Are the pages wholly written that hold the range, of 1 to kPageBytes bytes?
  [[gnu::always_inline]] bool pages_hold(uint64_t offset, uint64_t bytes) const {
    return is_whole(offset >> kPageShift) && is_whole((offset + bytes - 1) >> kPageShift);
  }

  // Of ranges of any length.
  void set(uint64_t offset, uint64_t bytes) {
    if (bytes == 0 || (bytes <= kPageBytes && pages_hold(offset, bytes))) // most stores
      return;
    set_in_pages(offset, bytes);
  }
  bool all_set(uint64_t offset, uint64_t bytes) const {
    return bytes == 0 || (bytes <= kPageBytes && pages_hold(offset, bytes)) ||
           first_unset(offset, bytes) == offset + bytes;
  }
  // The first byte of the range that was never written; offset + bytes if all were.
  uint64_t first_unset(uint64_t offset, uint64_t bytes) const { return first(offset, bytes, 0); }
  // The first byte of the range that was written; offset + bytes if none was.
  uint64_t first_set(uint64_t offset, uint64_t bytes) const { return first(offset, bytes, ~uint64_t{0}); }
  // Byte offset + i counts as never written again where bit i is set.
  void unset(uint64_t offset, uint32_t bytes);
  // The same for a whole range.
  void unset_range(uint64_t offset, uint64_t bytes);
  // Bit i: byte offset + i was never written, i < bytes <= 32.
  uint32_t unset_among(uint64_t offset, uint32_t bytes) const;
  // None is. While nobody else uses it.
  void clear();

  // For compiled code, which asks pages_hold() itself: where the pointer to a byte a page lies in an object
  // of this class. The byte is kPageWords where the page is wholly written; four at a time may be read.
  static int32_t place_of_full_words() { return offsetof(WrittenBytes, full_words_); }
  static constexpr uint64_t kWordBits = 64, kPageWords = kPageBytes / kWordBits;

private:
  using Word = std::atomic<uint64_t>; // of 64 bytes

  [[gnu::always_inline]] bool is_whole(uint64_t page) const {
    return full_words_[page].load(std::memory_order_relaxed) == kPageWords;
  }
  uint64_t words_in(uint64_t page) const;
  const Word* words_of(uint64_t page) const;
  Word* words_to_change(uint64_t page, const Word* unless);
  uint64_t word(uint64_t index) const;
  void set_in_pages(uint64_t offset, uint64_t bytes);
  void set_in_page(uint64_t page, uint64_t begin, uint64_t end);
  void clear_word(uint64_t index, uint64_t mask);
  uint64_t first(uint64_t offset, uint64_t bytes, uint64_t wanted) const;

  const uint64_t bytes_, pages_;
  // By page: words that are full, beside those of the last page that it has not. kPageWords: it is whole.
  static constexpr uint64_t kReadBehind = 3; // bytes
  std::unique_ptr<std::atomic<uint8_t>[]> full_words_;
  // By page: null, no byte is written; words that all such pages share, every byte is; else words of its own.
  std::unique_ptr<std::atomic<Word*>[]> words_;
};

} // namespace lemma::vgpu

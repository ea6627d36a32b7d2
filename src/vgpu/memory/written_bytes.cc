// Words of 64 flags, made when a page is first written in part. See written_bytes.h.
#include "vgpu/memory/written_bytes.h"

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

using Word = std::atomic<uint64_t>;
constexpr size_t kWords = WrittenBytes::kPageBytes / 64;

struct AllWritten {
  Word words[kWords];
  AllWritten() {
    for (Word& word : words)
      word.store(~uint64_t{0}, std::memory_order_relaxed);
  }
};

// The words of every page that was written as a whole. Nobody changes them.
Word* all_written() {
  static AllWritten all;
  return all.words;
}
const Word kNothingWritten[kWords] = {};

// Bits of word `index` that [begin, end) covers.
uint64_t covered(uint64_t index, uint64_t begin, uint64_t end) {
  const uint64_t first = index * 64;
  uint64_t mask = ~uint64_t{0};
  if (begin > first)
    mask &= ~uint64_t{0} << (begin - first);
  if (end < first + 64)
    mask &= (uint64_t{1} << (end - first)) - 1;
  return mask;
}

} // namespace

WrittenBytes::WrittenBytes(uint64_t bytes)
    : bytes_(bytes), pages_((bytes + kPageBytes - 1) >> kPageShift),
      full_words_(std::make_unique<std::atomic<uint8_t>[]>(pages_ + kReadBehind)),
      words_(std::make_unique<std::atomic<Word*>[]>(pages_)) {
  if (pages_ != 0)
    full_words_[pages_ - 1].store(static_cast<uint8_t>(kPageWords - words_in(pages_ - 1)),
                                  std::memory_order_relaxed);
}

WrittenBytes::~WrittenBytes() {
  for (uint64_t page = 0; page < pages_; ++page)
    if (Word* words = words_[page].load(std::memory_order_relaxed); words != all_written())
      delete[] words;
}

void WrittenBytes::clear() {
  for (uint64_t page = 0; page < pages_; ++page) {
    full_words_[page].store(static_cast<uint8_t>(kPageWords - words_in(page)), std::memory_order_relaxed);
    if (Word* words = words_[page].exchange(nullptr, std::memory_order_relaxed); words != all_written())
      delete[] words;
  }
}

uint64_t WrittenBytes::words_in(uint64_t page) const {
  return (std::min(kPageBytes, bytes_ - (page << kPageShift)) + kWordBits - 1) / kWordBits;
}

const WrittenBytes::Word* WrittenBytes::words_of(uint64_t page) const {
  const Word* words = words_[page].load(std::memory_order_acquire);
  return words ? words : kNothingWritten;
}

uint64_t WrittenBytes::word(uint64_t index) const {
  return words_of(index / kPageWords)[index % kPageWords].load(std::memory_order_relaxed);
}

// The page's own, made where it has none; null where it has what is given, since nothing is to be changed
// then.
WrittenBytes::Word* WrittenBytes::words_to_change(uint64_t page, const Word* unless) {
  Word* words = words_[page].load(std::memory_order_acquire);
  while (words != unless && (!words || words == all_written())) {
    const uint64_t count = words_in(page), end = bytes_ - (page << kPageShift);
    std::unique_ptr<Word[]> own(new Word[count]);
    for (uint64_t i = 0; i < count; ++i) // bytes behind the last count as written
      own[i].store(words                       ? ~uint64_t{0}
                   : end < (i + 1) * kWordBits ? ~covered(i, 0, end)
                                               : 0,
                   std::memory_order_relaxed);
    if (words_[page].compare_exchange_strong(words, own.get(), std::memory_order_acq_rel))
      words = own.release();
  }
  return words == unless ? nullptr : words;
}

void WrittenBytes::set_in_pages(uint64_t offset, uint64_t bytes) {
  const uint64_t end = offset + bytes;
  for (uint64_t page = offset >> kPageShift; page << kPageShift < end; ++page)
    if (!is_whole(page))
      set_in_page(page, std::max(offset, page << kPageShift), std::min(end, (page + 1) << kPageShift));
}

void WrittenBytes::set_in_page(uint64_t page, uint64_t begin, uint64_t end) {
  const uint64_t page_begin = page << kPageShift;
  if (begin == page_begin && end - begin == std::min(kPageBytes, bytes_ - page_begin)) {
    Word* nothing = nullptr;
    if (words_[page].compare_exchange_strong(nothing, all_written(), std::memory_order_acq_rel)) {
      full_words_[page].fetch_add(static_cast<uint8_t>(words_in(page)), std::memory_order_relaxed);
      return;
    }
  }
  Word* words = words_to_change(page, all_written());
  if (!words)
    return;
  uint8_t filled = 0;
  for (uint64_t i = (begin - page_begin) / kWordBits; page_begin + i * kWordBits < end; ++i) {
    const uint64_t mask = covered(page_begin / kWordBits + i, begin, end);
    uint64_t old = words[i].load(std::memory_order_relaxed);
    if ((old & mask) == mask)
      continue;
    old = words[i].fetch_or(mask, std::memory_order_acq_rel);
    filled += static_cast<uint8_t>(old != ~uint64_t{0} && (old | mask) == ~uint64_t{0});
  }
  if (filled != 0)
    full_words_[page].fetch_add(filled, std::memory_order_relaxed);
}

void WrittenBytes::clear_word(uint64_t index, uint64_t mask) {
  const uint64_t page = index / kPageWords;
  Word* words = words_to_change(page, nullptr);
  if (!words)
    return;
  // Counted off first, and on where it was not full: so never are more words counted than are full, and a
  // page does not seem whole to who sets a byte while another thread is here.
  full_words_[page].fetch_sub(1, std::memory_order_relaxed);
  if (words[index % kPageWords].fetch_and(~mask, std::memory_order_acq_rel) != ~uint64_t{0})
    full_words_[page].fetch_add(1, std::memory_order_relaxed);
}

void WrittenBytes::unset(uint64_t offset, uint32_t bytes) {
  for (; bytes != 0; bytes &= bytes - 1) {
    const uint64_t byte = offset + static_cast<uint64_t>(std::countr_zero(bytes));
    clear_word(byte / kWordBits, uint64_t{1} << byte % kWordBits);
  }
}

void WrittenBytes::unset_range(uint64_t offset, uint64_t bytes) {
  const uint64_t end = offset + bytes;
  for (uint64_t index = offset / kWordBits; index * kWordBits < end; ++index)
    clear_word(index, covered(index, offset, end));
}

// The first byte of the range whose bit is the one of `wanted`, which has zeros alone or ones.
uint64_t WrittenBytes::first(uint64_t offset, uint64_t bytes, uint64_t wanted) const {
  const uint64_t end = offset + bytes;
  const auto has_none = [&](uint64_t page) {
    return wanted == 0 ? is_whole(page) : words_[page].load(std::memory_order_relaxed) == nullptr;
  };
  for (uint64_t index = offset / kWordBits; index * kWordBits < end; ++index) {
    if (index % kPageWords == 0)
      while (index * kWordBits < end && has_none(index / kPageWords))
        index += kPageWords;
    if (index * kWordBits >= end)
      break;
    const uint64_t found = ~(word(index) ^ wanted) & covered(index, offset, end);
    if (found != 0)
      return index * kWordBits + static_cast<uint64_t>(std::countr_zero(found));
  }
  return end;
}

uint32_t WrittenBytes::unset_among(uint64_t offset, uint32_t bytes) const {
  uint32_t unset = 0;
  for (uint32_t i = 0; i < bytes; ++i)
    unset |= static_cast<uint32_t>(~word((offset + i) / kWordBits) >> (offset + i) % kWordBits & 1) << i;
  return unset;
}

} // namespace lemma::vgpu

// Storage of records and sets. See record.h.
#include "check/record.h"

#include <algorithm>

namespace lemma::check {

Records::Records(uint32_t most)
    : chunk_count_(std::min(most, kMost) / kChunk), chunks_(new std::atomic<Record*>[chunk_count_]()) {}

Records::~Records() {
  for (uint32_t i = 0; i < chunk_count_; ++i)
    delete[] chunks_[i].load();
}

uint32_t Records::add(Cursor& cursor, const Record& record) {
  if (cursor.next == cursor.end) {
    const uint32_t chunk = used_.fetch_add(1);
    if (chunk >= chunk_count_) {
      used_.fetch_sub(1);
      return 0;
    }
    if (!chunks_[chunk].load())
      chunks_[chunk].store(new Record[kChunk], std::memory_order_release);
    cursor = {std::max(chunk * kChunk, 1u), (chunk + 1) * kChunk};
  }
  chunks_[cursor.next / kChunk].load()[cursor.next % kChunk] = record;
  return cursor.next++;
}

uint32_t AccessSets::number_of(const Set& set) {
  const auto lock = this->lock();
  const auto [at, added] = numbers_.try_emplace(set, static_cast<uint32_t>(sets_.size()));
  if (added)
    sets_.push_back(&at->first);
  return at->second;
}

const AccessSets::Set& AccessSets::operator[](uint32_t number) const {
  const auto lock = this->lock();
  return *sets_[number];
}

uint64_t AccessSets::bytes() const {
  const auto lock = this->lock();
  constexpr uint64_t kNode = sizeof(Set) + sizeof(uint32_t) + 4 * sizeof(void*); // of the map
  uint64_t bytes = sets_.size() * (kNode + sizeof(Set*));
  for (const Set* set : sets_)
    bytes += set->members.size() * sizeof(Member);
  return bytes;
}

void AccessSets::clear() {
  const auto lock = this->lock();
  numbers_.clear();
  sets_.clear();
}

} // namespace lemma::check

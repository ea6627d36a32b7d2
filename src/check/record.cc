// Storage of records. See record.h.
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

} // namespace lemma::check

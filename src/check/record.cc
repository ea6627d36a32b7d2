// Storage of records. See record.h.
#include "check/record.h"

#include <algorithm>
#include <type_traits>

namespace lemma::check {

namespace {
static_assert(std::is_trivially_destructible_v<Record>);
// Of records that are made one by one: what nobody uses, the host need not have.
std::allocator<Record> storage;
} // namespace

Records::Records(uint32_t most) : most_(std::min(most, kMost) / kChunk) {}

Records::~Records() {
  for (uint32_t i = 0; i < chunks_.size(); ++i)
    if (Record* chunk = chunks_[i].load())
      storage.deallocate(chunk, size_t{kChunk} << i);
}

uint32_t Records::add(Cursor& cursor, const Record& record) {
  if (cursor.next == cursor.end) {
    const uint32_t taken = used_.fetch_add(1);
    if (taken >= most_) {
      used_.fetch_sub(1);
      return 0;
    }
    const uint32_t chunk = chunk_of(taken * kChunk);
    const std::lock_guard lock(mutex_);
    if (!chunks_[chunk].load())
      chunks_[chunk].store(storage.allocate(size_t{kChunk} << chunk), std::memory_order_release);
    cursor = {std::max(taken * kChunk, 1u), (taken + 1) * kChunk};
  }
  std::construct_at(const_cast<Record*>(&(*this)[cursor.next]), record);
  return cursor.next++;
}

} // namespace lemma::check

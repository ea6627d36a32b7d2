// Storage of sets: by chunks, which stay where they are, so that finding one takes no lock. See
// access_sets.h.
#include "check/access_sets.h"

namespace lemma::check {

AccessSets::~AccessSets() {
  for (std::atomic<Set*>& chunk : chunks_)
    delete[] chunk.load();
}

void AccessSets::Members::grow() {
  auto* larger = new Member[2 * room_];
  std::copy(begin(), end(), larger);
  if (data_ != here_)
    delete[] data_;
  data_ = larger;
  room_ *= 2;
}

void AccessSets::Set::add(const Member& member, const Record& of) {
  const uint16_t bytes = AccessSets::strong_bytes(of);
  strong_bytes = members.empty() || strong_bytes == bytes ? bytes : uint16_t{0};
  members.push_back(member);
  records_ |= bit_of(member.record);
  newest_cluster = of.cluster;
  if (2 * members.size() > index_size_)
    forget_index();
  else
    slot(member.record) = static_cast<uint16_t>(members.size());
  if (!of.writes)
    return;
  if (index_)
    std::swap(slot(member.record), slot(members[writers].record));
  std::swap(members.back(), members[writers]);
  ++writers;
}

void AccessSets::Set::replace_last(const Member& member, const Record& of) {
  if (strong_bytes != AccessSets::strong_bytes(of))
    strong_bytes = 0;
  members.back() = member;
  newest_cluster = of.cluster;
  records_ |= bit_of(member.record);
  forget_index();
}

void AccessSets::Set::erase_writers(uint32_t count) {
  members.erase_first(count);
  writers -= count;
  forget_places();
}

uint16_t& AccessSets::Set::slot(uint32_t record) {
  const size_t mask = index_size_ - 1;
  size_t at = record * 0x9e3779b1u >> std::countl_zero(static_cast<uint32_t>(mask));
  while (index_[at] != 0 && members[index_[at] - 1u].record != record)
    at = (at + 1) & mask;
  return index_[at];
}

AccessSets::Member* AccessSets::Set::find_indexed(uint32_t record) {
  if (!index_) {
    index_size_ = static_cast<uint32_t>(std::bit_ceil(4 * members.size()));
    index_ = std::make_unique<uint16_t[]>(index_size_);
    for (size_t i = 0; i < members.size(); ++i)
      slot(members[i].record) = static_cast<uint16_t>(i + 1);
  }
  const uint16_t found = slot(record);
  return found ? &members[found - 1u] : nullptr;
}

uint16_t AccessSets::strong_bytes(const Record& record) {
  return record.is_strong() && record.proxy == vgpu::Proxy::generic && !record.asynchronous &&
                 record.order.scope >= vgpu::MemoryScope::gpu
             ? record.bytes
             : uint16_t{0};
}

AccessSets::Number AccessSets::make(Free& free) {
  if (free.empty()) {
    const std::lock_guard lock(mutex_);
    const uint32_t first = used_.load();
    used_.store(first + kAtOnce);
    for (uint32_t i = kAtOnce; i > 0; --i)
      free.push_back(first + i);
    const auto chunk = static_cast<size_t>(std::bit_width((first + kFirst) / kFirst) - 1);
    if (!chunks_[chunk].load(std::memory_order_relaxed)) // kAtOnce divides kFirst
      chunks_[chunk].store(new Set[size_t{kFirst} << chunk], std::memory_order_release);
  }
  const Number number = free.back();
  free.pop_back();
  Set& set = (*this)[number];
  set.cells_ = 1;
  set.tidy_at = Set::kFirstTidying;
  return number;
}

AccessSets::Number AccessSets::own(Free& free, Number number) {
  Set& set = (*this)[number];
  if (set.cells_ == 1)
    return number;
  --set.cells_;
  const Number copy = make(free);
  Set& made = (*this)[copy];
  made = set;
  made.cells_ = 1;
  return copy;
}

bool AccessSets::release(Free& free, Number number) {
  Set& set = (*this)[number];
  if (--set.cells_ != 0)
    return false;
  set.clear();
  free.push_back(number);
  return true;
}

AccessSets::Number AccessSets::turned(Number number, uint32_t positions) {
  const std::lock_guard lock(turning_);
  const Number copy = make(turned_);
  Set& made = (*this)[copy];
  made = (*this)[number];
  made.cells_ = 1;
  for (Member& member : made.members)
    member = member.at(positions);
  return copy;
}

AccessSets::Number AccessSets::make() {
  const std::lock_guard lock(turning_);
  return make(turned_);
}

void AccessSets::release(Number number) {
  const std::lock_guard lock(turning_);
  release(turned_, number);
}

uint64_t AccessSets::bytes() const {
  uint64_t bytes = used_.load() * sizeof(Set);
  for (Number number = 1; number <= used_.load(); ++number)
    bytes += (*this)[number].members.bytes_elsewhere() + (*this)[number].index_size_ * sizeof(uint16_t);
  return bytes;
}

void AccessSets::clear() {
  for (Number number = 1; number <= used_.load(); ++number)
    (*this)[number].clear();
  turned_.clear();
  used_ = 0;
}

} // namespace lemma::check

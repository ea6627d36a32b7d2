// Sets of the accesses that places in shadow memory remember: who has read a place since its last write, and
// who has written it atomically.
//
// A set belongs to the cells that hold its number, of one page: neighbours with one history share it, and it
// is copied when one of them goes its own way. Lanes are counted from the cell's position in its page, modulo
// 32: where lanes access words side by side, each word has been read by "its own" lane of the same warps, and
// all have one set. What becomes of its members is decided in visit.cc.
//
// Tests: tests/unit/check/access_sets_test.cc.
#pragma once

#include "check/clock.h"
#include "check/record.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lemma::check {

class AccessSets {
public:
  using Number = uint32_t; // from 1 on

  struct Member {
    uint32_t record = 0;
    LaneMask lanes = 0; // from the cell's position on: at() of a cell has them as they are
    Member at(uint32_t position) const { return {record, std::rotl(lanes, static_cast<int>(position))}; }
    static Member from(const Member& member, uint32_t position) {
      return {member.record, std::rotr(member.lanes, static_cast<int>(position))};
    }
  };

  // A vector that has room for those of most sets in itself.
  class Members {
  public:
    Members() = default;
    Members(const Members& other) { *this = other; }
    Members& operator=(const Members& other) {
      size_ = 0;
      for (const Member& member : other)
        push_back(member);
      return *this;
    }
    ~Members() {
      if (data_ != here_)
        delete[] data_;
    }
    Member* begin() { return data_; }
    Member* end() { return data_ + size_; }
    const Member* begin() const { return data_; }
    const Member* end() const { return data_ + size_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Member& operator[](size_t i) { return data_[i]; }
    const Member& operator[](size_t i) const { return data_[i]; }
    Member& front() { return data_[0]; }
    const Member& front() const { return data_[0]; }
    Member& back() { return data_[size_ - 1]; }
    const Member& back() const { return data_[size_ - 1]; }
    void push_back(const Member& member) {
      if (size_ == room_) [[unlikely]]
        grow();
      data_[size_++] = member;
    }
    void erase_first(uint32_t count) {
      std::copy(begin() + count, end(), begin());
      size_ -= count;
    }
    void keep_first(uint32_t count) { size_ = count; }
    void clear() { size_ = 0; }
    uint64_t bytes_elsewhere() const { return data_ == here_ ? 0 : room_ * sizeof(Member); }

  private:
    static constexpr uint32_t kHere = 16;
    void grow();

    Member* data_ = here_;
    uint32_t size_ = 0, room_ = kHere;
    Member here_[kHere];
  };

  // What is asked of each lies in one line of the host's cache, and members in the next ones.
  class alignas(64) Set {
    friend class AccessSets;
    uint32_t cells_ = 0;
    uint32_t index_size_ = 0;
    uint64_t records_ = 0;              // bit_of() each member's, and perhaps of others that it had
    std::unique_ptr<uint16_t[]> index_; // of members, from 1 on, by records; null: not made

  public:
    Set() = default;
    Set(const Set& other) = delete;
    // But for the cells.
    Set& operator=(const Set& other) {
      members = other.members;
      forget_places();
      newest_cluster = other.newest_cluster;
      writers = other.writers;
      tidy_at = other.tidy_at;
      strong_bytes = other.strong_bytes;
      return *this;
    }

    uint64_t newest_cluster = 0; // of the member that came last
    uint32_t writers = 0;
    // The size at which it is worth looking for members that others stand for.
    uint32_t tidy_at = kFirstTidying;
    // All members are strong accesses of so many bytes, between any two threads of a GPU; 0: not all.
    uint16_t strong_bytes = 0;
    // The writers come first, in the order in which they came.
    Members members;

    // Null: the record is no member's.
    Member* find(uint32_t record) {
      if (!may_have(record))
        return nullptr;
      if (members.size() > kListed)
        return find_indexed(record);
      for (Member& member : members)
        if (member.record == record)
          return &member;
      return nullptr;
    }
    // A weak read of a record that is no member's, where that is seen at once, the set is one cell's, and
    // nothing is to be looked for: there are several members, and fewer than `most`. Else false, and nothing
    // has changed.
    bool add_read(const Member& member, uint64_t cluster, size_t most) {
      if (cells_ != 1 || may_have(member.record) || members.size() < 2 || members.size() >= most ||
          members.size() >= std::min<size_t>(tidy_at, kListed))
        return false;
      members.push_back(member);
      records_ |= bit_of(member.record);
      strong_bytes = 0;
      newest_cluster = cluster;
      return true;
    }
    bool may_have(uint32_t record) const { return (records_ & bit_of(record)) != 0; }
    // `of`: the member's record, which is no other member's.
    void add(const Member& member, const Record& of);
    // In the place of the last one, which is no writer.
    void replace_last(const Member& member, const Record& of);
    // Takes away the first writers.
    void erase_writers(uint32_t count);
    // Takes away the members for which f(member) is true.
    template <class F>
    void erase_if(F&& f) {
      uint32_t kept = 0, kept_writers = 0;
      for (uint32_t i = 0; i < members.size(); ++i)
        if (!f(members[i])) {
          kept_writers += i < writers;
          members[kept++] = members[i];
        }
      members.keep_first(kept);
      forget_places();
      writers = kept_writers;
      tidy_at = std::max(kFirstTidying, 2 * kept);
    }

  private:
    static constexpr uint32_t kFirstTidying = 8;
    static constexpr size_t kListed = 16; // members that are looked through one by one
    void clear() {
      members.clear();
      forget_places();
      writers = 0;
    }
    void forget_index() {
      index_.reset();
      index_size_ = 0;
    }
    static uint64_t bit_of(uint32_t record) { return uint64_t{1} << (record * 0x9e3779b1u >> 26); }
    // After members have gone or changed their places.
    void forget_places() {
      forget_index();
      records_ = 0;
      for (const Member& member : members)
        records_ |= bit_of(member.record);
    }
    Member* find_indexed(uint32_t record);
    // The slot of the record's member, or of none.
    uint16_t& slot(uint32_t record);
  };

  AccessSets() = default;
  ~AccessSets();
  AccessSets(const AccessSets&) = delete;

  // Sets that one thread may use for its cells.
  using Free = std::vector<Number>;
  // An empty one, of one cell.
  Number make(Free& free);
  // What the cell is to hold that holds this one, before it changes it: the set, or a copy of its own.
  Number own(Free& free, Number number);
  // One cell more holds it; one cell less. Returns whether nobody holds it any more.
  void share(Number number) { ++(*this)[number].cells_; }
  bool release(Free& free, Number number);
  // For a page that divides its cells, by any thread that has the page: a copy for a cell that stands so many
  // positions earlier; and release().
  Number turned(Number number, uint32_t positions);
  // Likewise: an empty one, of one cell.
  Number make();
  void release(Number number);

  Set& operator[](Number number) const {
    const uint32_t at = number + kFirst - 1;
    const auto chunk = static_cast<size_t>(std::bit_width(at / kFirst) - 1);
    return chunks_[chunk].load(std::memory_order_acquire)[at - (kFirst << chunk)];
  }
  // Has the host fetch it.
  void fetch(Number number) const {
    const char* set = reinterpret_cast<const char*>(&(*this)[number]);
    for (size_t line = 0; line < sizeof(Set); line += 64)
      __builtin_prefetch(set + line, 1);
  }
  uint64_t bytes() const;
  // Forgets all of them, and keeps the memory. Nobody may have sets in `Free` that are of before.
  void clear();

  // What Set::strong_bytes is of a member alone.
  static uint16_t strong_bytes(const Record& record);

private:
  static constexpr uint32_t kFirst = 256; // sets in the first chunk; the others double
  static constexpr uint32_t kAtOnce = 32; // that a thread takes

  std::mutex turning_;
  Free turned_;      // of turned()
  std::mutex mutex_; // of new chunks
  std::atomic<uint32_t> used_{0};
  std::array<std::atomic<Set*>, 24> chunks_{};
};

} // namespace lemma::check

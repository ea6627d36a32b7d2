// What is kept of accesses that were made: a record for each warp instruction and epoch, which the shadow
// memory names by number.
//
// Tests: tests/unit/check/shadow_test.cc.
#pragma once

#include "check/clock.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/memory/access.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>

namespace lemma::check {

// Who accessed, how, when. What differs among the lanes of one instruction is not here.
struct Record {
  const vgpu::Code* code = nullptr;
  uint64_t cluster = 0;
  vgpu::InstId instruction = {};
  uint32_t agent = 0;
  Epoch epoch = 0;
  uint64_t time = 0; // of global memory: no access of that epoch was before (handover.h)
  uint32_t cta_rank = 0;
  uint16_t warp = 0;            // that executed the instruction
  uint16_t bytes = 0;           // of one piece; of operations that take ranges 0
  vgpu::MemoryOrder order = {}; // weak: with no scope
  vgpu::Proxy proxy = vgpu::Proxy::generic;
  bool asynchronous = false;   // an operation's: the agent is its own
  vgpu::AsyncKind kind = {};   // asynchronous: of which
  vgpu::AsyncGroup group = {}; // ... and by what the issuing thread waits for it
  bool writes = false;
  bool atomic = false;
  bool initializes = false; // mbarrier.init, mbarrier.inval
  bool mbarrier = false;    // an operation on an mbarrier object
  bool whole_warp = false;  // wmma.load, wmma.store: nobody says which lane accesses what
  bool every_lane = false;  // tcgen05.alloc: as all lanes of the warp do
  bool nc = false;          // ld.global.nc: outside the memory model, whatever orders it

  bool is_strong() const { return order.semantics != vgpu::Semantics::weak; }
};

// Records by number, from 1 on. They stay where they are; several threads may add and read.
class Records {
public:
  // The number and the lane of an access, as the shadow memory keeps it: 26 and 5 bits. Bit 31 is free.
  using Id = uint32_t;
  static constexpr uint32_t kMost = (1u << 26) - 1;
  static Id id(uint32_t record, int lane) { return record << 5 | static_cast<uint32_t>(lane); }
  static uint32_t record_of(Id id) { return id >> 5; }
  static int lane_of(Id id) { return static_cast<int>(id & 31); }

  // At most so many.
  explicit Records(uint32_t most);
  ~Records();
  Records(const Records&) = delete;

  // Where one thread adds.
  struct Cursor {
    uint32_t next = 0, end = 0;
  };
  // 0: there is no room.
  uint32_t add(Cursor& cursor, const Record& record);
  const Record& operator[](uint32_t number) const {
    const uint32_t chunk = chunk_of(number);
    return chunks_[chunk].load(std::memory_order_acquire)[number + kChunk - (kChunk << chunk)];
  }
  uint64_t bytes() const { return used_.load() * uint64_t{kChunk} * sizeof(Record); }
  // Forgets all, and keeps the memory. Cursors begin anew.
  void clear() { used_.store(0); }

private:
  static constexpr uint32_t kChunk =
      1024; // records that a cursor takes, and those of the first chunk; the others double
  static uint32_t chunk_of(uint32_t number) {
    return static_cast<uint32_t>(std::bit_width((number + kChunk) / kChunk) - 1);
  }
  const uint32_t most_; // times kChunk
  std::array<std::atomic<Record*>, 17> chunks_{};
  std::mutex mutex_;              // of new chunks
  std::atomic<uint32_t> used_{0}; // times kChunk
};

} // namespace lemma::check

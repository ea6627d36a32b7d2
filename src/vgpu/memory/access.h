// An access to memory as a value: whose memory, which bytes of it, how, and by whom. Every handler that
// touches memory has one from Exec::access(), check() or find(); what was ever written is recorded, and
// asked, through it alone.
//
// Not here: which address means what, and the words in which a wrong one is reported (access.cc, Exec).
//
// PTX ISA: "State Spaces", "Memory Consistency Model", "Async proxy". Tests: tests/unit/vgpu/access_test.cc,
// unwritten_test.cc.
#pragma once

#include "vgpu/code/code.h"
#include "vgpu/memory/memory.h"

#include <cstring>
#include <string>
#include <utility>

namespace lemma::vgpu {

struct Cta;

// copy: a read whose caller looks after bytes that were never written (Access::unwritten).
enum class AccessKind : uint8_t { read, copy, write, atomic };

inline bool writes(AccessKind kind) {
  return kind == AccessKind::write || kind == AccessKind::atomic;
}

// How the lanes of an access lie to each other, as far as whoever made it has looked: each next to the one
// before, all 32 of them; those that are active at one address.
enum class LanesLie : uint8_t { anyhow, side_by_side, at_one_place };

// tensormap: a tensor copy reads its tensor map.
enum class Proxy : uint8_t { generic, async, tensormap };

// Bytes where they lie: whose memory, how far from its begin, and where on the host.
struct MemoryPlace {
  // What the address means, generic addresses resolved: global, const_, shared, local, param (the kernel's
  // parameters), reg (the frame's .param area). generic: nowhere.
  isa::StateSpace space = isa::StateSpace::generic;
  Cta* cta = nullptr;               // shared: whose
  Allocation* allocation = nullptr; // global, const_
  uint64_t offset = 0;              // in that memory; local, reg: in each lane's own
  std::byte* host = nullptr;

  bool is_shared() const { return space == isa::StateSpace::shared; }
  // The same memory, so many bytes further.
  MemoryPlace at(uint64_t distance) const {
    return {space, cta, allocation, offset + distance, host + distance};
  }
};

// A place in a CTA's shared memory.
struct SharedPlace {
  Cta* cta = nullptr; // null: none
  uint32_t offset = 0;
};

// "shared memory at 0x440", "'arg 2 (buf)' at byte 64", as a thread of `reader` names it.
std::string name_of(const MemoryPlace& place, const Cta* reader);

// One access, or that of all lanes of an instruction to one owner's memory, its bounds checked once. The
// place is that of the lowest byte; lane l's byte `distance` above it lies at host + l * lane_stride +
// distance. Offsets below are such distances.
struct Access : MemoryPlace {
  const DecodedInst* instruction = nullptr;
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  MemoryOrder order;
  LaneMask lanes = 0;       // that access
  uint64_t bytes = 0;       // from the lowest byte to the end of the highest
  uint64_t lane_stride = 0; // spaces that each lane has its own of: distance between the lanes' memories

  // Where it is known which bytes were ever written:
  uint8_t* written = nullptr;        // shared: beside `host`; null too where all of them are known to be
  uint8_t* unpublished = nullptr;    // shared, not AsyncMode::eager: beside `host`, see Cta
  uint8_t unpublished_mark = 0;      // what a store sets there
  LaneMask* lanes_written = nullptr; // local: of the lowest byte, see Warp::local_written
  WrittenBytes* init = nullptr;      // global: the allocation's

  // False: there is no such access, and for Exec::access() and check() a fault was recorded.
  explicit operator bool() const { return host != nullptr; }

  // Is there anything to look at, or to set?
  bool is_tracked() const { return written || unpublished || init || lanes_written; }
  // Of what all lanes share: local memory apart. Inlined, so that an Access whose address nobody takes stays
  // in registers.
  [[gnu::always_inline]] bool was_written(uint64_t distance, uint64_t count) const {
    if (written) {
      bool all = true;
      for_flags(distance, count, [&]<class Word>(Word ones, const uint8_t* flags) {
        Word value;
        std::memcpy(&value, flags, sizeof value);
        all &= value == ones;
      });
      return all;
    }
    return !init || init->all_set(offset + distance, count);
  }
  [[gnu::always_inline]] void mark_written(uint64_t distance, uint64_t count) const {
    if (written)
      for_flags(distance, count, [](auto ones, uint8_t* flags) { std::memcpy(flags, &ones, sizeof ones); });
    if (unpublished)
      std::memset(unpublished + distance, unpublished_mark, count);
    if (init)
      init->set(offset + distance, count);
  }
  // For one lane, with its own memory. The first byte of all that was never written; `bytes` if none is.
  uint64_t first_unwritten(int lane) const;
  // Bit i: byte i was never written, of at most 32 bytes.
  uint32_t unwritten(int lane) const;
  // Makes them so again where their bit is set: what stands there now was copied from such bytes. False where
  // it is not known what was written.
  bool set_unwritten(uint32_t mask, int lane) const;

private:
  // Calls f(word of ones, flags) for the words of flags that cover the bytes: a call of memset for each
  // lane's four bytes would cost more than everything else.
  template <class F>
  [[gnu::always_inline]] void for_flags(uint64_t distance, uint64_t count, F&& f) const {
    uint8_t* flags = written + distance;
    for (; count >= 8; flags += 8, count -= 8)
      f(uint64_t{0x0101010101010101}, flags);
    if (count & 4)
      f(uint32_t{0x01010101}, std::exchange(flags, flags + 4));
    if (count & 2)
      f(uint16_t{0x0101}, std::exchange(flags, flags + 2));
    if (count & 1)
      f(uint8_t{0x01}, flags);
  }
};

// Bytes from the lowest address to the end of an access at the highest. 0: there are not so many addresses
// (one lane's is 0, another's the last), so that no range holds them.
inline uint64_t span_of(uint64_t lowest, uint64_t highest, uint64_t bytes) {
  const uint64_t distance = highest - lowest;
  return distance <= UINT64_MAX - bytes ? distance + bytes : 0;
}

} // namespace lemma::vgpu

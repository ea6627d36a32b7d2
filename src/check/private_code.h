// Code whose effects stay in the threads that execute it: it computes, loads, and stores to the threads' own
// local memory. Which way a branch takes where nothing else lies until its ways meet again, others can tell
// by the registers alone that are written there. A store under a guard is nothing to the threads that the
// guard keeps from it.
//
// Compilers make such branches of functions with a slow path (the sine of a large number).
//
// Tests: tests/unit/check/loaded_test.cc.
#pragma once

#include "check/pieces.h"
#include "vgpu/code/inst_id.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace lemma::check {

// What comes of an instruction's sources and of its guard.
enum class Effect : uint8_t {
  computes,         // its destinations, lane by lane
  loads,            // a weak load: what is at an address
  loads_privately,  // ... of memory that only reads can reach, or the thread alone
  stores_privately, // to the thread's own memory
  gathers,          // its destinations, of all lanes together: redux, vote, match
  branches,         // where its lanes go on: bra
  acts,             // what others may see, or its destinations in another way
};

Effect effect_of(const vgpu::Code& code, const vgpu::DecodedInst& in);

// Whether a load may be of local memory.
bool may_load_local(const vgpu::Code& code, const vgpu::DecodedInst& in);

// The carry, which .cc writes and addc, subc and madc read: as a register's offset in the frame.
inline constexpr uint32_t kCarry = ~0u - 1;
bool reads_carry(isa::Opcode opcode);
bool writes_carry(const vgpu::Code& code, const vgpu::DecodedInst& in);

// Calls f(offset) for the registers that it writes.
template <class F>
void each_destination(const vgpu::Code& code, const vgpu::DecodedInst& in, F&& f) {
  for (const vgpu::Slot& slot : code.dsts_of(in))
    if (slot.base == 0)
      f(slot.offset);
  if (writes_carry(code, in))
    f(kCarry);
}

// What lies between a branch and where its ways meet.
struct PrivateRegion {
  struct Guard {
    uint32_t predicate = 0; // offset in the frame; what is there does not write it
    bool negated = false;
  };
  std::vector<std::pair<uint32_t, uint32_t>> pcs; // half open
  std::vector<uint32_t> writes;                   // offsets of registers in the frame
  bool stores = false;                            // to local memory
  std::vector<vgpu::InstId> loads_again;          // where it leads back to the branch: what it loads
  std::vector<Guard> stores_under; // its stores that others see; it is private to lanes kept from all of them

  bool has(uint32_t pc) const;
  // Whether the branch, where it goes by what that load gets, waits for another thread to write.
  bool waits_for(vgpu::InstId load) const;
};

class PrivateRegions {
public:
  // Null: what lies there is not private, or is more than kMostPieces. It stays where it is.
  const PrivateRegion* behind(const vgpu::Code& code, uint32_t branch);

  static constexpr size_t kMostPieces = 64;

private:
  struct Known {
    std::vector<Piece> pieces;
    std::vector<bool> is_private; // of these
    std::map<uint32_t, std::optional<PrivateRegion>> behind;
  };
  static std::optional<PrivateRegion> find(const vgpu::Code& code, const Known& known, uint32_t branch);

  std::map<const vgpu::Code*, Known> known_;
};

} // namespace lemma::check

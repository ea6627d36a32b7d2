// What is compiled together: a unit, segments of one function in their order, with the jumps between them.
//
//   | segment 3 | segment 4 | segment 7 | ...      what is left out has not run yet: the code returns there
//
// A zone is an innermost loop of the unit. In it the values that come into blocks from others, the most used
// ones, have registers of the host that all blocks agree on.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/code/code.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace lemma::vgpu {

inline constexpr uint32_t kNoSegment = UINT32_MAX;
inline constexpr uint32_t kNoJoinPoint = UINT32_MAX;
inline constexpr uint32_t kNoZone = UINT32_MAX;

// Where an operand's value lies, as one number.
using Place = uint64_t;
inline Place place_of(const Slot& slot) {
  return uint64_t{slot.base} << 32 | slot.offset;
}

struct Segment {
  uint32_t begin = 0, end = 0;  // pcs, half open
  uint32_t counted = 0;         // of its instructions, those that count as executed
  uint32_t unguarded = 0;       // ... by every lane of the part that runs
  uint32_t next = kNoSegment;   // the one behind it, if that is in the unit and control may fall into it
  uint32_t target = kNoSegment; // where its last instruction, a branch, jumps to
  bool is_jumped_to = false;    // by one of the unit
  uint32_t join_point = kNoJoinPoint; // which one it is
  uint32_t zone = kNoZone;            // the innermost loop
  // Whether it has code for a part of the warp that is all 32 lanes, and for fewer. Where it has none the
  // code returns.
  bool for_all = true, for_some = true;
};

// All of a function, as if each were alone.
std::vector<Segment> segments_of(const Code& code);

// A value that a zone keeps in registers of the host.
struct Kept {
  Place place = 0;
  uint8_t bytes = 0;       // of a lane
  bool is_written = false; // in the zone
};

struct Unit {
  const Code* code = nullptr;
  std::vector<Segment> segments;
  std::vector<std::vector<Kept>> zones;
  std::vector<uint32_t> join_pcs; // by join point

  uint32_t segment_at(uint32_t pc) const; // that begins there; kNoSegment: none
};

// The segments around `pc`, which begins one, of those that `choose` gives code: it sets Segment::for_all and
// for_some. `parts_of_registers`: a zone has so many registers of the host at most, each of 64 bytes. At most
// kMostInUnit instructions.
inline constexpr uint32_t kMostInUnit = 4000;
Unit find_unit(const Code& code, uint32_t pc, const std::function<void(Segment&)>& choose,
               uint32_t parts_of_registers);

// Where the instruction goes to if it is a branch to one place, or a jump that the decoder has made.
bool is_branch(const Code& code, const DecodedInst& in);
bool is_goto(const DecodedInst& in); // decode.cc
// Whether control may go on behind it.
bool falls_through(const Code& code, const DecodedInst& in);

} // namespace lemma::vgpu

// Handlers that move values between the registers of a warp's lanes and compute nothing: mov, packing and
// unpacking, and where the host's vectors can permute 32 lanes, shfl. The decoder asks for those of the
// host's level.
//
// Tests: tests/unit/vgpu/move_test.cc, warp_ops_test.cc (at every level that the host has).
#pragma once

#include "vgpu/exec.h"

namespace lemma::vgpu {

enum class Shuffle : uint8_t { up, down, bfly, idx };

// shfl in every case there is, lane by lane.
template <Shuffle mode>
Step shuffle(Exec& x, const DecodedInst& in); // warp_ops.cc
extern template Step shuffle<Shuffle::up>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::down>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::bfly>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::idx>(Exec&, const DecodedInst&);

struct LaneMoves {
  Handler mov_16 = nullptr, mov_32 = nullptr, mov_64 = nullptr;
  // One register from 2 or 4, the first lowest, and the other way round; by the bits of the whole and of a
  // part.
  Handler pack_32_16 = nullptr, pack_64_32 = nullptr, pack_64_16 = nullptr;
  Handler unpack_32_16 = nullptr, unpack_64_32 = nullptr, unpack_64_16 = nullptr;
  Handler shuffles[4] = {}; // by Shuffle
};

// At the host's level in force.
const LaneMoves& lane_moves();

} // namespace lemma::vgpu

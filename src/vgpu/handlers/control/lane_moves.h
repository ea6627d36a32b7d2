// Handlers that move values between the registers of a warp's lanes and compute nothing: mov, packing and
// unpacking, and where the host's vectors can permute 32 lanes, shfl and vote. The decoder asks for those of
// the host's level.
//
// Tests: tests/unit/vgpu/operands_test.cc, warp_ops_test.cc (at every level that the host has).
#pragma once

#include "vgpu/engine/exec.h"

#include <array>

namespace lemma::vgpu {

enum class Shuffle : uint8_t { up, down, bfly, idx };

// shfl in every case there is, lane by lane.
template <Shuffle mode>
Step shuffle(Exec& x, const DecodedInst& in); // warp_ops.cc
extern template Step shuffle<Shuffle::up>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::down>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::bfly>(Exec&, const DecodedInst&);
extern template Step shuffle<Shuffle::idx>(Exec&, const DecodedInst&);

// A shuffle whose operands b and c are constants, and whose membermask, if it has one, names all lanes.
struct FixedShuffle {
  std::array<uint32_t, kWarpSize> sources{}; // which lane each reads from
  LaneMask in_range = 0;
  Handler otherwise = nullptr; // where not all lanes are here, or somebody watches
};

enum class Vote : uint8_t { all, any, uni, ballot };

// vote in every case there is; its mode is DecodedInst::flags.
Step vote(Exec& x, const DecodedInst& in); // warp_ops.cc

// Lanes have met at the instruction, as their membermasks say: to who watches.
void tell_convergence(const Exec& x, const DecodedInst& in, LaneMask lanes, LaneMask members); // warp_ops.cc

struct LaneMoves {
  Handler mov_16 = nullptr, mov_32 = nullptr, mov_64 = nullptr;
  // One register from 2 or 4, the first lowest, and the other way round; by the bits of the whole and of a
  // part.
  Handler pack_32_16 = nullptr, pack_64_32 = nullptr, pack_64_16 = nullptr;
  Handler unpack_32_16 = nullptr, unpack_64_32 = nullptr, unpack_64_16 = nullptr;
  Handler shuffles[4] = {};        // by Shuffle
  Handler fixed_shuffle = nullptr; // its plan is a FixedShuffle; null: there is none
  Handler votes[4] = {};           // by Vote
};

// At the host's level in force.
const LaneMoves& lane_moves();

} // namespace lemma::vgpu

// What a thread computes of constants, of its place in the grid and of the kernel's parameters alone: the
// same each time, for as long as the function's activation lasts. Compilers leave such instructions in loops,
// as the addresses of a tile in shared memory, since the assembler moves them.
//
// Here a warp passes over those in loops that all of it has executed before; they count. And where an address
// is such, and of all lanes the same or of neighbouring elements, the lanes' need not be compared.
//
// Of a kernel's own, outside loops, those are passed over that all threads of a CTA have the same of, such as
// parameters and what is computed of them: its warps run one after the other in the same frame, where the one
// before has left them.
//
// Which predicates are such the checker asks, of branches that come round again (Code::constant_predicates).
//
// Not here: what is the same in all rounds of one loop, but not in the whole function.
//
// Tests: tests/unit/vgpu/launch_constants_test.cc.
#pragma once

#include "vgpu/written.h"

#include <span>
#include <vector>

namespace lemma::vgpu {

// In decoded code, once what it reads before it writes is known, and its loops. Returns, by pc, the
// instructions in loops that compute one.
std::vector<bool> find_launch_constants(Code& code, std::span<const lowered::Block> blocks);

// Does the instruction begin some that are passed over, in a loop? Or some that a CTA has once?
bool begins_launch_constants(const DecodedInst& in);
bool begins_constants_of_cta(const DecodedInst& in);

// Of what is known of lanes: are the rows of the block whole warps?
inline bool rows_are_warps(const Dim3& block) {
  return block[0] % kWarpSize == 0 || block[1] * block[2] == 1;
}

} // namespace lemma::vgpu

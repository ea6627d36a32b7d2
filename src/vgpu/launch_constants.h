// What a thread computes of constants, of its place in the grid and of the kernel's parameters alone: the
// same each time, for as long as the function's activation lasts. Compilers leave such instructions in loops,
// as the addresses of a tile in shared memory, since the assembler moves them.
//
// Here a warp passes over those in loops that all of it has executed before; they count. And loads of
// matrices whose address is such, and of all lanes the same, need not compare the lanes'.
//
// Not here: what is the same in all rounds of one loop, but not in the whole function.
//
// Tests: tests/unit/vgpu/launch_constants_test.cc.
#pragma once

#include "vgpu/written.h"

#include <span>

namespace lemma::vgpu {

// In decoded code, once what it reads before it writes is known, and its loops. `ranges` is each block's
// place.
void find_launch_constants(Code& code, std::span<const PcRange> ranges);

// Does the instruction begin some that are passed over?
bool begins_launch_constants(const DecodedInst& in);

} // namespace lemma::vgpu

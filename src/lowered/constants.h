// What a thread computes of constants, of its place in the grid and of the kernel's parameters alone
// (values.h). Compilers leave such instructions in loops, as the addresses of a tile in shared memory, since
// the assembler moves them. Here a warp may pass over those in loops that all of it has executed before; they
// count.
//
// Of a kernel's own, outside loops, those may be passed over that all threads of a CTA have the same of, such
// as parameters and what is computed of them: its warps run one after the other in the same frame, where the
// one before has left them.
//
// And where an address is known, and of all lanes the same or of neighbouring elements, the lanes' need not
// be compared.
//
// Tests: tests/unit/lowered/constants_test.cc, tests/unit/vgpu/launch_constants_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// After find_unwritten_reads() and find_loops(). Notes launch_constant of instructions in loops, one_address,
// side_by_side and uniform_lines; sets Register::is_known, Function::constants_of_launch and
// constants_of_cta.
void find_launch_constants(Function& function);

} // namespace lemma::lowered

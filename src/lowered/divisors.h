// Divisions by numbers that the assembler knows. Of div.approx and div.full it then writes a multiplication
// by the reciprocal, rounded to nearest; the last bit of the GPU's own reciprocal is another for one number
// of eight.
//
// Known is what stands in the instruction, and a register that is written once, by an unguarded mov of such a
// number: as compilers write it. What ptxas finds out otherwise (sums of constants, loops that it unrolls) is
// not followed, and of the other approximate functions no constant is folded; ptxas rounds those to nearest
// too.
//
// Seen in the code of ptxas 13.0 for sm_90a, and recorded on an H200: 128 divisors, the group `constants` of
// tests/golden. Tests: tests/unit/lowered/divisors_test.cc, tests/unit/vgpu/approximate_test.cc.
#pragma once

#include "lowered/program.h"

namespace lemma::lowered {

// Notes constant_divisor. In time linear in the code.
void find_constant_divisors(Function& function);

} // namespace lemma::lowered

// What approximate.cc and interpolation.cc share.
#pragma once

#include "vgpu/compiled/emitters/lanes.h"

namespace lemma::vgpu {

// square() of numeric/mufu_units.inc of the x in the lowest 17 bits of both parts of v: words, those of part
// 0 the even ones. Overwrites t, y, rax, k5.
void emit_squares(Emit& e, const x86::Zmm& square, const TwoParts& v, const TwoParts& t, const x86::Zmm& y);

// lg2, sin, cos and tanh of f32: interpolation.cc.
bool emit_interpolation(Emit& e, const ptx::Instruction& i, bool ftz);

} // namespace lemma::vgpu

// ldmatrix: the plain handler, which takes every case there is, and for hosts with AVX-512 those that take
// the usual one, 8x8 matrices of 16 bits in the CTA's shared memory.
//
// Tests: tests/unit/vgpu/matrix_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

Step run_ldmatrix(Exec& x, const DecodedInst& in); // matrix.cc

// For so many matrices of `.b16`, whose DecodedInst::width is that of a row; null: the plain handler it is.
Handler vector_ldmatrix(int matrices, bool transposed);

} // namespace lemma::vgpu

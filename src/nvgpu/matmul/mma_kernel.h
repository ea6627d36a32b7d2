// A product's function for targets and types without wgmma: the kernel multiplies with nvgpu.mma.sync, or, of
// f32 that must stay exact, with fused multiply-adds. The same function as matmul_text's (kernel.h).
//
// A CTA makes one tile of C. All its warps bring tiles of A and B to a ring of stages in shared memory, by
// asynchronous copies (cp.async) of 16 bytes a lane, and multiply what has come: fragments of the next k-step
// are read (ldmatrix) while those of this one are multiplied. Past the edges of A and B copies bring zeros,
// and nothing is stored past C's.
//
// What the sums are: mma.sync adds a k-step's products and the sum as the tensor core does, k-steps in
// ascending order; in fused multiply-adds, and in f64, one k after the other.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"

#include <string>

namespace lemma::nvgpu {

std::string mma_text(const MatmulKernel& kernel);

} // namespace lemma::nvgpu

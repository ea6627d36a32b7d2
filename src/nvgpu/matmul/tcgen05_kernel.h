// A product's function for targets with tensor memory: the kernel multiplies with tcgen05.mma. The same
// function as matmul_text's (kernel.h).
//
// A CTA has six warps. Four of them, a warpgroup, store; one thread of the fifth brings tiles of A and B into
// the ring of stages, one of the sixth issues the products of each stage, whose sums lie in tensor memory.
// There are two accumulators: while the four warps store one tile's sums, the next tile's products go to the
// other one. CTAs stay, and take one tile of C after the other.
//
// Not here: pairs of CTAs, clusters, scale factors.
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"

#include <string>

namespace lemma::nvgpu {

std::string tcgen05_text(const MatmulKernel& kernel);

} // namespace lemma::nvgpu

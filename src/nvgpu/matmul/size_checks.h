// Sizes that only a run knows, and that linalg wants to be equal: K of A and of B, C's and its bias's
// columns.
//
// Tests: tests/mlir/matmul/sizes.mlir.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lemma::nvgpu {

// Before `place`: the program ends, with what is wrong, if operands of `op` that one of its dimensions
// belongs to have different extents there. Nothing where they are known to be equal; linalg's verifier has
// seen to those that are known not to be.
void check_sizes_at_run(mlir::linalg::LinalgOp op, mlir::Operation* place);

} // namespace lemma::nvgpu

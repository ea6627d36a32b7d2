// Functions of what follows a product, by the machine's own instructions: activations are to cost little
// beside the product. How far results are off: docs/matmul.md.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lemma::nvgpu {

// In the function of a product, what follows inlined. If results have 16 bits or fewer (`is_narrow`), tanh,
// exp, exp2 and division of f32 become the approximate instructions; else tanh becomes what ex2 and rcp make
// of it, as exact as f32 is.
void use_machine_functions(mlir::func::FuncOp product, bool is_narrow);

} // namespace lemma::nvgpu

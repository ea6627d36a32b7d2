// An MLIR context for programs in the nvgpu dialect: ours, and upstream's dialects that go with it.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace lemma::nvgpu {

// Dialects: nvgpu (ours), affine, arith, cf, dlti, func, gpu, index, linalg, llvm, math, memref, nvvm, scf,
// tensor, ub, vector; and how each becomes LLVM IR. mlir::registerAllDialects() would bring a second nvgpu.
void register_dialects(mlir::DialectRegistry& registry);

} // namespace lemma::nvgpu

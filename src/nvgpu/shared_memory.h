// Shared memory of a gpu.module: alignment that tensor copies need, and dynamic shared memory as PTX has it.
//
// Tests: tests/mlir/lower/shared_memory.mlir.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <cstdint>

namespace lemma::nvgpu {

// Before the conversion: raises the alignment of variables in shared memory to what the module's operations
// need of them, and returns it, in bytes. Programs seldom say it, and rely on where the assembler happens to
// put them.
uint64_t align_shared_memory(mlir::gpu::GPUModuleOp module);

// After it: arrays of no elements in shared memory become declarations, which PTX has for dynamic shared
// memory. All of them are the same memory.
void declare_dynamic_shared_memory(mlir::gpu::GPUModuleOp module, uint64_t alignment);

} // namespace lemma::nvgpu

// PTX text of a lowered gpu.module.
//
// Tests: tests/mlir/lower/.
#pragma once

#include "isa/form.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <string>

namespace lemma::nvgpu {

enum class DeviceText : uint8_t { llvm, ptx };

// The module in the LLVM dialect (after create_lower_device_pass()) as LLVM IR or PTX for `arch`, optimized.
// Source lines of the .mlir go along as .loc. Errors are reported at the module.
mlir::FailureOr<std::string> emit_device(mlir::gpu::GPUModuleOp module, const std::string& arch,
                                         DeviceText as);

} // namespace lemma::nvgpu

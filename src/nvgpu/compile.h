// What compiling a program and running it share.
#pragma once

#include "lemma/mlir.h"
#include "nvgpu/program.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <string>
#include <vector>

namespace lemma::nvgpu {

// An argument type, before its lowering.
MlirParameter parameter_of(mlir::Type type);

// Whether memory there is the device's: #gpu.address_space<global>, or 1. Null: it is the host's.
bool is_device_space(mlir::Attribute space);

// The kernels of a gpu.module before its lowering, with their arguments as MLIR has them.
std::vector<MlirKernel> kernels_of(mlir::gpu::GPUModuleOp module);

} // namespace lemma::nvgpu

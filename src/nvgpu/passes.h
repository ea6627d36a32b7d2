// The passes from MLIR as written to the LLVM dialect, device and host, and their order.
//
//   tensors   host code on tensors becomes host code on memrefs (tensors.cc)
//   matmul    linalg.matmul of host code becomes a gpu.launch of nvgpu operations (matmul/)
//   outline   gpu.launch becomes a gpu.module and a launch of its kernel
//   prepare   lowers linalg, affine, scf, vectors of many dimensions, math, all_reduce
//   device    each gpu.module becomes the LLVM dialect (lower_device.cc); emit_module.h makes PTX of it
//   host      the rest becomes the LLVM dialect, with calls of the mgpu* runtime (lower_host.cc)
//
// Tests: tests/mlir/.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace lemma {
struct MlirProduct;
}

namespace lemma::nvgpu {

inline constexpr const char* kDefaultArch = "sm_90a";
// On a lowered gpu.module: the PTX version that its instructions need, 83 for 8.3; i32.
inline constexpr const char* kPtxVersionAttr = "nvgpu.ptx_version";

// The target of a module: `otherwise` if that is not empty, else what its #nvvm.target says, else
// kDefaultArch.
std::string arch_of(mlir::gpu::GPUModuleOp module, const std::string& otherwise);

// Whether the program has kernels of its own. Who writes kernels says what runs on the device: there, tensors
// and matrix products of host code stay what they are.
bool has_device_code(mlir::ModuleOp module);
std::unique_ptr<mlir::Pass> create_tensors_pass();

// Of matrix products (matmul/).
struct MatmulOptions {
  std::string schedule = {}; // what kernels look like (matmul/schedule.h); empty: as their sizes suggest
  std::string arch = {};     // what they are for; empty: kDefaultArch
  bool allow_tf32 = false;   // f32 is multiplied as tf32
  std::vector<MlirProduct>* products = nullptr; // what the kernels do is added there; null: nobody asks
};
std::unique_ptr<mlir::Pass> create_matmul_pass(const MatmulOptions& options = {});
void add_outline_passes(mlir::OpPassManager& manager);
void add_prepare_passes(mlir::OpPassManager& manager);
// Leaves only the gpu.modules: for those who want PTX, host code is work for nothing.
std::unique_ptr<mlir::Pass> create_drop_host_pass();
std::unique_ptr<mlir::Pass> create_prepare_device_pass();
// arith's floats of 8 bits (narrow_floats.cc). The pass computes with them in f32, and expands arith.truncf
// to them and arith.extf of them in host code; the function expands them in a gpu.module, by cvt if there is
// one.
std::unique_ptr<mlir::Pass> create_expand_narrow_floats_pass();
bool expand_narrow_floats(mlir::Operation* root, bool has_cvt);
// The async dialect's execute, await and groups in host code (inline_async.cc).
std::unique_ptr<mlir::Pass> create_inline_async_pass();
std::unique_ptr<mlir::Pass> create_lower_device_pass(std::string arch = {});
std::unique_ptr<mlir::Pass> create_lower_host_pass();

// arith, cf, func, index, memref, ub and vector to the LLVM dialect.
void populate_common_lowering(const mlir::LLVMTypeConverter& converter, mlir::RewritePatternSet& patterns);

// For lemma-opt: the passes above and upstream's that programs use, and the pipeline "nvgpu-to-llvm".
void register_passes();

} // namespace lemma::nvgpu

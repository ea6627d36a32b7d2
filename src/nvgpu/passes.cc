// Order of the passes, and the pass that prepares a gpu.module for its conversion.
//
// Tests: tests/mlir/.
#include "nvgpu/passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// Expands what no conversion pattern covers: reductions over a CTA or a warp, math functions.
class PrepareDevice : public PassWrapper<PrepareDevice, OperationPass<gpu::GPUModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrepareDevice)
  StringRef getArgument() const override { return "prepare-nvgpu-device"; }
  StringRef getDescription() const override { return "Expand reductions and math functions in gpu.modules"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    getOperation().walk(promote);
    RewritePatternSet patterns(&getContext());
    populateGpuRewritePatterns(patterns);
    populateGpuBreakDownSubgroupReducePatterns(patterns, /*maxShuffleBitwidth=*/32, PatternBenefit(2));
    populateGpuLowerSubgroupReduceToShufflePatterns(patterns, /*subgroupSize=*/32);
    populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns, /*subgroupSize=*/32);
    populateMathF32ExpansionPatterns(patterns, is_expanded);
    populateMathPolynomialApproximationPatterns(patterns, is_expanded);
    math::populateExpansionPatterns(patterns, {"tan", "sinh", "cosh", "asinh", "acosh", "atanh", "powf",
                                               "fpowi", "ipowi", "exp2", "rsqrt", "clampf"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

private:
  // What is printed, as C passes it to a function of variable arguments: no integer has less than 32 bits, no
  // float less than 64. An i1 is 0 or 1. Upstream's lowering does so for f32 alone.
  static void promote(gpu::PrintfOp print) {
    OpBuilder builder(print);
    for (OpOperand& operand : print->getOpOperands()) {
      const Type type = operand.get().getType();
      Value wide;
      if (type.isSignlessInteger() && type.getIntOrFloatBitWidth() < 32) {
        const Type to = builder.getI32Type();
        if (type.isInteger(1))
          wide = arith::ExtUIOp::create(builder, print.getLoc(), to, operand.get());
        else
          wide = arith::ExtSIOp::create(builder, print.getLoc(), to, operand.get());
      } else if (llvm::isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 64) {
        wide = arith::ExtFOp::create(builder, print.getLoc(), builder.getF64Type(), operand.get());
      }
      if (wide)
        operand.set(wide);
    }
  }

  static bool is_expanded(StringRef name) {
    // PTX has these exactly.
    return !llvm::is_contained(
        {"math.fma", "math.sqrt", "math.absf", "math.floor", "math.ceil", "math.trunc"}, name);
  }
};

// Vectors of several dimensions in terms of those that LLVM has, on the device and on the host.
class LowerVectors : public PassWrapper<LowerVectors, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerVectors)
  StringRef getArgument() const override { return "lower-vectors"; }
  StringRef getDescription() const override { return "Break vectors of several dimensions down"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    using namespace vector;
    RewritePatternSet patterns(&getContext());
    populateVectorToVectorCanonicalizationPatterns(patterns);
    populateVectorBitCastLoweringPatterns(patterns);
    populateVectorBroadcastLoweringPatterns(patterns);
    populateVectorContractLoweringPatterns(patterns, VectorContractLowering::OuterProduct);
    populateVectorOuterProductLoweringPatterns(patterns);
    populateVectorMaskOpLoweringPatterns(patterns);
    populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/false);
    populateVectorMultiReductionLoweringPatterns(patterns, VectorMultiReductionLowering::InnerParallel);
    populateVectorInterleaveLoweringPatterns(patterns);
    populateVectorGatherLoweringPatterns(patterns);
    populateVectorScanLoweringPatterns(patterns);
    populateVectorShapeCastLoweringPatterns(patterns);
    populateVectorStepLoweringPatterns(patterns);
    populateVectorTransposeLoweringPatterns(patterns, VectorTransposeLowering::EltWise);
    populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
    populateVectorInsertExtractStridedSliceTransforms(patterns);
    populateVectorFromElementsUnrollPatterns(patterns);
    populateVectorToElementsUnrollPatterns(patterns);
    populateVectorRankReducingFMAPattern(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

class DropHost : public PassWrapper<DropHost, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropHost)
  StringRef getArgument() const override { return "drop-host"; }
  StringRef getDescription() const override { return "Leave only the gpu.modules"; }

  void runOnOperation() override {
    for (Operation& op : llvm::make_early_inc_range(getOperation().getOps()))
      if (!llvm::isa<gpu::GPUModuleOp>(op))
        op.erase();
  }
};

} // namespace

std::unique_ptr<Pass> create_prepare_device_pass() {
  return std::make_unique<PrepareDevice>();
}

std::unique_ptr<Pass> create_drop_host_pass() {
  return std::make_unique<DropHost>();
}

void add_outline_passes(OpPassManager& manager) {
  manager.addPass(createGpuKernelOutliningPass());
}

void add_prepare_passes(OpPassManager& manager) {
  manager.addPass(create_inline_async_pass());
  manager.addPass(createConvertLinalgToLoopsPass());
  manager.addPass(createConvertVectorToSCFPass());
  manager.addNestedPass<gpu::GPUModuleOp>(create_prepare_device_pass());
  manager.addPass(create_expand_narrow_floats_pass());
  // Canonicalization joins what LowerVectors takes apart: it comes before.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(std::make_unique<LowerVectors>());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createCSEPass());
}

void register_passes() {
  registerPass([] { return create_prepare_device_pass(); });
  registerPass([]() -> std::unique_ptr<Pass> { return std::make_unique<LowerVectors>(); });
  registerPass([] { return create_drop_host_pass(); });
  registerPass([] { return create_expand_narrow_floats_pass(); });
  registerPass([] { return create_tensors_pass(); });
  registerPass([] { return create_matmul_pass(); });
  registerPass([] { return create_inline_async_pass(); });
  registerPass([] { return create_lower_device_pass(); });
  registerPass([] { return create_lower_host_pass(); });
  registerTransformsPasses();
  affine::registerAffinePasses();
  arith::registerArithPasses();
  bufferization::registerBufferizationPasses();
  registerGPUPasses();
  registerLinalgPasses();
  math::registerMathPasses();
  memref::registerMemRefPasses();
  registerSCFPasses();
  registerPass([] { return createSCFToControlFlowPass(); });
  registerPass([] { return createConvertVectorToSCFPass(); });
  registerPass([] { return createLowerAffinePass(); });
  PassPipelineRegistration<>("nvgpu-to-llvm", "Device and host code to the LLVM dialect",
                             [](OpPassManager& manager) {
                               add_prepare_passes(manager);
                               manager.addNestedPass<gpu::GPUModuleOp>(create_lower_device_pass());
                               manager.addPass(create_lower_host_pass());
                             });
}

} // namespace lemma::nvgpu

// The pass that turns a gpu.module into the LLVM dialect: one full conversion of nvgpu, gpu, nvvm and the
// dialects around them, under one type converter, so that no cast stands between two dialects.
//
// Math functions that neither LLVM nor the polynomial expansions of passes.cc cover would call NVIDIA's
// libdevice, which only the CUDA toolkit has: they are an error here. Tests: tests/mlir/lower/,
// tests/mlir/programs/.
#include "lemma/nearest.h"
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"
#include "nvgpu/matrix_type.h"
#include "nvgpu/passes.h"
#include "nvgpu/shared_memory.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::nvgpu {

using namespace mlir;

void populate_common_lowering(const LLVMTypeConverter& converter, RewritePatternSet& patterns) {
  arith::populateCeilFloorDivExpandOpsPatterns(patterns); // ceildivui and kin, which LLVM has not
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
}

namespace {

class LowerDevice : public PassWrapper<LowerDevice, OperationPass<gpu::GPUModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerDevice)
  LowerDevice() = default;
  explicit LowerDevice(std::string arch) { this->arch = std::move(arch); }
  LowerDevice(const LowerDevice& other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "lower-nvgpu-device"; }
  StringRef getDescription() const override { return "Turn the code of gpu.modules into the LLVM dialect"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    const auto target = target_of(module);
    if (failed(target) || failed(check_math(module)) || failed(check_wmma(module)) ||
        failed(check_packed(module)))
      return signalPassFailure();
    const bool uses_cvt = expand_narrow_floats(module, target->sm >= 89);
    PtxTarget ptx{*target, uses_cvt ? isa::IsaVersion{8, 1} : isa::IsaVersion{}};
    const uint64_t alignment = align_shared_memory(module);

    LowerToLLVMOptions options(&getContext(), DataLayout(module));
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    add_type_conversions(converter);

    RewritePatternSet patterns(&getContext());
    populate_common_lowering(converter, patterns);
    // Before the patterns that call libdevice; check_math() has seen to it that PTX has them all.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/true, /*benefit=*/2);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    populateGpuWMMAToNVVMConversionPatterns(converter, patterns);
    populate_wmma_lowering(converter, patterns);
    populateGpuSubgroupReduceOpLoweringPattern(converter, patterns);
    populateNVVMToLLVMConversionPatterns(patterns);
    populate_matrix_lowering(converter, ptx, patterns);
    populate_async_copy_lowering(converter, ptx, patterns);
    populate_prefetch_lowering(converter, ptx, patterns);
    populate_mbarrier_lowering(converter, ptx, patterns);
    populate_tma_lowering(converter, ptx, patterns);
    populate_warpgroup_lowering(converter, ptx, patterns);

    ConversionTarget legal(getContext());
    // Upstream's own legality forbids LLVM's math intrinsics in favour of libdevice.
    legal.addLegalDialect<LLVM::LLVMDialect>();
    legal.addDynamicallyLegalDialect<NVVM::NVVMDialect>(is_in_llvm);
    legal.addIllegalDialect<NVGPUDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                            gpu::GPUDialect, index::IndexDialect, math::MathDialect, memref::MemRefDialect,
                            ub::UBDialect, vector::VectorDialect>();
    legal.addLegalOp<gpu::GPUModuleOp>();
    if (failed(convert(module, legal, std::move(patterns))))
      return signalPassFailure();
    declare_dynamic_shared_memory(module, alignment);
    module->setAttr(kPtxVersionAttr, IntegerAttr::get(IntegerType::get(&getContext(), 32),
                                                      ptx.needed.major * 10 + ptx.needed.minor));
  }

  Option<std::string> arch{*this, "arch", llvm::cl::desc("Target where the module names none: sm_90a"),
                           llvm::cl::init("")};

private:
  FailureOr<isa::Target> target_of(gpu::GPUModuleOp module) {
    const std::string word = arch_of(module, arch);
    const auto target = isa::parse_target(word);
    if (target && isa::target_since(*target))
      return *target;
    return module.emitError() << fmt::format("there is no target {}{}; there are {}", word,
                                             did_you_mean(word, isa::target_words()),
                                             fmt::join(isa::target_words(), ", "));
  }

  static LogicalResult check_math(gpu::GPUModuleOp module) {
    const WalkResult result = module.walk([](Operation* op) {
      if (!op->getDialect() || op->getDialect()->getNamespace() != "math" || is_in_ptx(op))
        return WalkResult::advance();
      op->emitError()
          << op->getName()
          << " on these types is neither in PTX nor expanded; legal: what PTX has (absf, absi, ceil, "
             "copysign, "
             "ctlz, ctpop, cttz, floor, fma, round, roundeven, sqrt, trunc), and of f16 and f32 the "
             "functions "
             "that expand to polynomials (exp, log, sin, cos, tan, tanh, erf, atan, powf, rsqrt, ...)";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  // LLVM loads and stores an i4 as a byte of its own: not what the dialect's operations have copied.
  static LogicalResult check_packed(gpu::GPUModuleOp module) {
    const auto packs = [](Operation* op) {
      return llvm::any_of(op->getOperandTypes(), [](Type type) {
        const auto memref = dyn_cast<MemRefType>(type);
        return memref && is_packed(memref.getElementType());
      });
    };
    bool has_packed = false;
    module.walk(
        [&](Operation* op) { has_packed |= llvm::isa<DeviceAsyncCopyOp, LdMatrixOp>(op) && packs(op); });
    if (!has_packed)
      return success();
    const WalkResult result = module.walk([&](Operation* op) {
      if (!llvm::isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp>(op) || !packs(op))
        return WalkResult::advance();
      op->emitError()
          << op->getName()
          << " takes elements of 4 bits one to a byte, nvgpu.device_async_copy and nvgpu.ldmatrix two; "
             "legal here: a memref of i8 over the same bytes (memref.view), and vector.bitcast";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  // An nvvm operation either has an intrinsic of LLVM or is text, as nvvm.inline_ptx is: an llvm.inline_asm
  // then.
  static bool is_in_llvm(Operation* op) {
    auto text = dyn_cast<NVVM::BasicPtxBuilderInterface>(op);
    return !text || text.hasIntrinsic();
  }

  // LLVM's back end makes instructions of these; of others it would call functions that are not there.
  static bool is_in_ptx(Operation* op) {
    return llvm::isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
                     math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
                     math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp, math::RoundOp,
                     math::SqrtOp, math::TruncOp>(op);
  }
};

} // namespace

std::string arch_of(gpu::GPUModuleOp module, const std::string& otherwise) {
  if (!otherwise.empty())
    return otherwise;
  if (const auto targets = module.getTargetsAttr())
    for (const Attribute target : targets)
      if (const auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
        return nvvm.getChip().str();
  return kDefaultArch;
}

std::unique_ptr<Pass> create_lower_device_pass(std::string arch) {
  return std::make_unique<LowerDevice>(std::move(arch));
}

} // namespace lemma::nvgpu

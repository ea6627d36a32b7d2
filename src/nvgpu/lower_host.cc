// The pass that turns host code into the LLVM dialect: gpu operations become calls of the mgpu* runtime
// (src/mgpu).
//
// Tests: tests/mlir/programs/.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"
#include "nvgpu/passes.h"

#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// The conversion takes operations that are asynchronous and wait for one token; this makes the others so.
template <class Op>
void make_asynchronous(Op op) {
  OpBuilder builder(op);
  const Location where = op.getLoc();
  const Type token = builder.getType<gpu::AsyncTokenType>();
  if (op.getAsyncDependencies().size() != 1) {
    auto all = gpu::WaitOp::create(builder, where, token, op.getAsyncDependencies());
    op.getAsyncDependenciesMutable().assign(all.getAsyncToken());
  }
  if (op.getAsyncToken())
    return;
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(token);
  Operation* made =
      Operation::create(where, op->getName(), types, op->getOperands(), op->getDiscardableAttrDictionary(),
                        op->getPropertiesStorage(), op->getSuccessors(), op->getNumRegions());
  builder.insert(made);
  gpu::WaitOp::create(builder, where, Type(), made->getResults().back());
  op->replaceAllUsesWith(made->getResults().drop_back());
  op->erase();
}

void make_asynchronous(ModuleOp module) {
  module.walk([](Operation* op) {
    llvm::TypeSwitch<Operation*>(op)
        .Case<gpu::DeallocOp, gpu::MemcpyOp, gpu::MemsetOp>([](auto typed) { make_asynchronous(typed); })
        .Case([](gpu::AllocOp alloc) {
          if (!alloc.getHostShared()) // which is for synchronous operations alone
            make_asynchronous(alloc);
        });
  });
}

class LowerHost : public PassWrapper<LowerHost, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerHost)
  StringRef getArgument() const override { return "lower-nvgpu-host"; }
  StringRef getDescription() const override { return "Turn host code into the LLVM dialect"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    make_asynchronous(getOperation());
    LLVMTypeConverter converter(&getContext());
    // To the host all addresses are of one kind.
    populateGpuMemorySpaceAttributeConversions(converter, [](gpu::AddressSpace) { return 0u; });
    converter.addTypeAttributeConversion(
        [](BaseMemRefType, IntegerAttr space) -> Attribute { return IntegerAttr::get(space.getType(), 0); });
    add_type_conversions(converter);

    RewritePatternSet patterns(&getContext());
    populate_common_lowering(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    cf::populateAssertToLLVMConversionPattern(converter, patterns);
    populateGpuToLLVMConversionPatterns(converter, patterns);
    populate_host_lowering(converter, patterns);

    ConversionTarget legal(getContext());
    legal.addLegalDialect<LLVM::LLVMDialect>();
    legal.addIllegalDialect<NVGPUDialect>();
    legal.addLegalOp<ModuleOp, gpu::GPUModuleOp, gpu::BinaryOp>();
    legal.markOpRecursivelyLegal<gpu::GPUModuleOp>();
    legal.addDynamicallyLegalOp<gpu::LaunchFuncOp>(
        [&](gpu::LaunchFuncOp op) { return converter.isLegal(op); });
    if (failed(check_no_device_code(getOperation())) ||
        failed(convert(getOperation(), legal, std::move(patterns))) ||
        failed(check_all_converted(getOperation())))
      signalPassFailure();
  }

private:
  // The conversion leaves what it does not know; LLVM would only say that something is wrong.
  static LogicalResult check_all_converted(ModuleOp module) {
    const WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation* op) {
      if (llvm::isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      if (llvm::isa<ModuleOp, gpu::BinaryOp, gpu::LaunchFuncOp, UnrealizedConversionCastOp>(op) ||
          isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError("is not lowered in host code, with these types");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult check_no_device_code(ModuleOp module) {
    const WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation* op) {
      if (llvm::isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      if (!isa_and_nonnull<NVGPUDialect>(op->getDialect()) || llvm::isa<TmaCreateDescriptorOp>(op))
        return WalkResult::advance();
      op->emitOpError("is for kernels: it belongs into a gpu.func or a gpu.launch; on the host there is "
                      "nvgpu.tma.create.descriptor alone");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace

std::unique_ptr<Pass> create_lower_host_pass() {
  return std::make_unique<LowerHost>();
}

} // namespace lemma::nvgpu

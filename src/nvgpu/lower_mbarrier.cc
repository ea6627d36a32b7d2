// mbarrier.* as PTX. A group is an array in shared memory, its value a pointer to it.
//
// PTX ISA: "Parallel Synchronization and Communication Instructions: mbarrier".
// Tests: tests/mlir/lower/mbarrier.mlir.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr unsigned kShared = 3; // LLVM's number of shared memory
constexpr uint64_t kBarrierBytes = 8;

// A variable of its own for each create: two groups never share an mbarrier, and two runs of one create name
// the same, as shared memory is not allocated at run time.
struct LowerCreate : Lowering<MBarrierCreateOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierCreateOp op, OpAdaptor,
                                ConversionPatternRewriter& rewriter) const override {
    auto module = op->getParentOfType<gpu::GPUModuleOp>();
    if (!module)
      return op.emitOpError(
          "reserves shared memory, so it belongs into a kernel; there is no gpu.module around it");
    std::string name = "__mbarrier";
    for (unsigned i = 1; module.lookupSymbol(name); ++i)
      name = "__mbarrier_" + std::to_string(i);
    const auto type =
        LLVM::LLVMArrayType::get(rewriter.getI64Type(), op.getBarriers().getType().getNumBarriers());
    {
      const OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      LLVM::GlobalOp::create(rewriter, op.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                             /*value=*/Attribute(), /*alignment=*/kBarrierBytes, kShared);
    }
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op, LLVM::LLVMPointerType::get(rewriter.getContext(), kShared), name);
    return success();
  }
};

Value barrier_pointer(ConversionPatternRewriter& rewriter, Location where, Value group, Value id) {
  return id ? LLVM::GEPOp::create(rewriter, where, group.getType(), rewriter.getI64Type(), group,
                                  ValueRange(id))
            : group;
}

struct LowerGet : Lowering<MBarrierGetOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierGetOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(
        op, op.getType(), barrier_pointer(rewriter, op.getLoc(), adaptor.getBarriers(), adaptor.getMbarId()));
    return success();
  }
};

struct LowerInit : Lowering<MBarrierInitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierInitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const IdAndPredicate last(adaptor.getIdAndPredicate());
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.init.shared.b64")
                       .only_if(last.predicate)
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), last.id))
                       .reads(as_i32(rewriter, where, adaptor.getCount()))
                       .emit());
  }
};

struct LowerTestWait : Lowering<MBarrierTestWaitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierTestWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.test_wait.shared.b64")
                       .writes(rewriter.getI1Type())
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), adaptor.getMbarId()))
                       .reads(adaptor.getToken())
                       .emit());
  }
};

struct LowerArrive : Lowering<MBarrierArriveOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierArriveOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.arrive.shared.b64")
                       .writes(rewriter.getI64Type())
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), adaptor.getMbarId()))
                       .emit());
  }
};

struct LowerArriveNoComplete : Lowering<MBarrierArriveNoCompleteOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierArriveNoCompleteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.arrive.noComplete.shared.b64")
                       .writes(rewriter.getI64Type())
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), adaptor.getMbarId()))
                       .reads(as_i32(rewriter, where, adaptor.getCount()))
                       .emit());
  }
};

struct LowerArriveExpectTx : Lowering<MBarrierArriveExpectTxOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierArriveExpectTxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const IdAndPredicate last(adaptor.getIdAndPredicate());
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.arrive.expect_tx.shared.b64")
                       .only_if(last.predicate)
                       .text("_")
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), last.id))
                       .reads(as_i32(rewriter, where, adaptor.getTxcount()))
                       .emit());
  }
};

// mapa says where the other CTA has the mbarrier.
struct LowerArriveCluster : Lowering<MBarrierArriveClusterOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierArriveClusterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const IdAndPredicate last(adaptor.getIdAndPredicate());
    const auto there = ptx(rewriter, where)
                           .spelled("mapa.shared::cluster.u32")
                           .writes(rewriter.getI32Type())
                           .reads(barrier_address(rewriter, where, adaptor.getBarriers(), last.id))
                           .reads(as_i32(rewriter, where, adaptor.getRank()))
                           .emit(/*touches_memory=*/false);
    if (failed(there))
      return failure();
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled("mbarrier.arrive.release.cluster.shared::cluster.b64")
                       .only_if(last.predicate)
                       .text("_")
                       .address(there->front())
                       .emit());
  }
};

// One try ends after `ticks` or some time of the machine's choice, with the phase complete or not: the
// operation goes on trying.
struct LowerTryWaitParity : Lowering<MBarrierTryWaitParityOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(MBarrierTryWaitParityOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    Value parity = as_i32(rewriter, where, adaptor.getPhaseParity());
    if (!op.getPhaseParity().getType().isInteger(1)) // PTX takes 0 and 1; programs count phases
      parity = LLVM::AndOp::create(
          rewriter, where, parity,
          LLVM::ConstantOp::create(rewriter, where, parity.getType(), rewriter.getI32IntegerAttr(1)));
    return replace(op, rewriter,
                   ptx(rewriter, where)
                       .spelled(op.getCluster() ? "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"
                                                : "mbarrier.try_wait.parity.shared.b64")
                       .until_true()
                       .address(barrier_address(rewriter, where, adaptor.getBarriers(), adaptor.getMbarId()))
                       .reads(parity)
                       .reads(as_i32(rewriter, where, adaptor.getTicks()))
                       .emit());
  }
};

} // namespace

Value barrier_address(ConversionPatternRewriter& rewriter, Location where, Value group, Value id) {
  return LLVM::PtrToIntOp::create(rewriter, where, rewriter.getI32Type(),
                                  barrier_pointer(rewriter, where, group, id));
}

void populate_mbarrier_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                                RewritePatternSet& patterns) {
  patterns.add<LowerCreate, LowerGet, LowerInit, LowerTestWait, LowerArrive, LowerArriveNoComplete,
               LowerArriveExpectTx, LowerArriveCluster, LowerTryWaitParity>(converter, target);
}

} // namespace lemma::nvgpu

// memref.prefetch in device code as prefetch: of locality 3 into the L1, of less into the L2, where
// upstream's lowering ends in an intrinsic for which LLVM's PTX backend emits nothing.
//
// PTX ISA: "prefetch, prefetchu". Tests: tests/mlir/lower/prefetch.mlir.
#include "nvgpu/lower.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr uint32_t kWanted = 3; // MLIR's "extremely local keep in cache"

struct LowerMemRefPrefetch : Lowering<memref::PrefetchOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(memref::PrefetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const MemRefType type = op.getMemRefType();
    const Value pointer = element_pointer(rewriter, where, *getTypeConverter(), type, adaptor.getMemref(),
                                          adaptor.getIndices());
    const unsigned space = cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
    constexpr unsigned kGeneric = 0, kGlobal = 1;
    // There is no cache between other memory and a thread, nor one for instructions that it could fill.
    if (op.getIsDataCache() && (space == kGeneric || space == kGlobal)) {
      const std::string level = op.getLocalityHint() == kWanted ? "L1" : "L2";
      if (failed(ptx(rewriter, where)
                     .spelled("prefetch" + std::string(space == kGlobal ? ".global." : ".") + level)
                     .address(pointer)
                     .emit()))
        return failure();
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populate_prefetch_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                                RewritePatternSet& patterns) {
  patterns.add<LowerMemRefPrefetch>(converter, target, 2);
}

} // namespace lemma::nvgpu

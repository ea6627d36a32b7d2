// tma.* on the device as cp.async.bulk.tensor, prefetch.tensormap and fence.proxy.tensormap.
//
// Copies only: bulk groups of stores are the program's to commit and to wait for, as are fences between
// proxies. Not here: tma.create.descriptor, which is the host's. PTX ISA: "cp.async.bulk.tensor", "prefetch",
// "membar / fence". Tests: tests/mlir/lower/tma.mlir.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

SmallVector<Value> as_i32s(ConversionPatternRewriter& rewriter, Location where, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return as_i32(rewriter, where, value); });
}

// A box lies densely: of the memref only the start counts.
Value box_address(ConversionPatternRewriter& rewriter, Location where, const LLVMTypeConverter& converter,
                  Value original, Value converted) {
  const auto type = cast<MemRefType>(original.getType());
  const Value zero = LLVM::ConstantOp::create(rewriter, where, converter.getIndexType(),
                                              rewriter.getIntegerAttr(converter.getIndexType(), 0));
  return shared_address(rewriter, where, converter, type, converted,
                        SmallVector<Value>(static_cast<size_t>(type.getRank()), zero));
}

struct LowerLoad : Lowering<TmaAsyncLoadOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TmaAsyncLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const ValueRange coordinates = adaptor.getCoordinatesAndOffsets().drop_back(op.offsets());
    const ValueRange im2col_offsets = adaptor.getCoordinatesAndOffsets().take_back(op.offsets());
    const Value mask = adaptor.getMulticastMask();
    PtxCall call = ptx(rewriter, where);
    call.spelled(
            fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global{}.mbarrier::complete_tx::bytes{}",
                        coordinates.size(), im2col_offsets.empty() ? ".tile" : ".im2col",
                        mask ? ".multicast::cluster" : ""))
        .only_if(adaptor.getPredicate())
        .address(box_address(rewriter, where, *getTypeConverter(), op.getDst(), adaptor.getDst()))
        .address(adaptor.getTensorMapDescriptor(), as_i32s(rewriter, where, coordinates))
        .address(barrier_address(rewriter, where, adaptor.getBarriers(), adaptor.getMbarId()));
    if (!im2col_offsets.empty()) {
      SmallVector<Value> offsets;
      for (const Value offset : im2col_offsets)
        offsets.push_back(LLVM::TruncOp::create(rewriter, where, rewriter.getI16Type(), offset));
      call.reads(ValueRange(offsets));
    }
    if (mask)
      call.reads(mask);
    if (failed(call.emit()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerStore : Lowering<TmaAsyncStoreOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TmaAsyncStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    return replace(
        op, rewriter,
        ptx(rewriter, where)
            .spelled(fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group",
                                 adaptor.getCoordinates().size()))
            .only_if(adaptor.getPredicate())
            .address(adaptor.getTensorMapDescriptor(), as_i32s(rewriter, where, adaptor.getCoordinates()))
            .address(box_address(rewriter, where, *getTypeConverter(), op.getSrc(), adaptor.getSrc()))
            .emit());
  }
};

struct LowerPrefetch : Lowering<TmaPrefetchOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TmaPrefetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    return replace(op, rewriter,
                   ptx(rewriter, op.getLoc())
                       .spelled("prefetch.tensormap")
                       .only_if(adaptor.getPredicate())
                       .address(adaptor.getTensorMapDescriptor())
                       .emit());
  }
};

// .sys: the host may have written the map.
struct LowerFence : Lowering<TmaFenceOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TmaFenceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    return replace(op, rewriter,
                   ptx(rewriter, op.getLoc())
                       .spelled("fence.proxy.tensormap::generic.acquire.sys")
                       .address(adaptor.getTensorMapDescriptor())
                       .text("128") // bytes: a tensor map's size
                       .emit());
  }
};

struct RefuseCreate : Lowering<TmaCreateDescriptorOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(TmaCreateDescriptorOp op, OpAdaptor,
                                ConversionPatternRewriter&) const override {
    return op.emitOpError("makes a tensor map on the host; a kernel takes it as an argument");
  }
};

} // namespace

void populate_tma_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                           RewritePatternSet& patterns) {
  patterns.add<LowerLoad, LowerStore, LowerPrefetch, LowerFence, RefuseCreate>(converter, target);
}

} // namespace lemma::nvgpu

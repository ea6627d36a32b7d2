// device_async_copy, device_async_create_group and device_async_wait as cp.async.
//
// Tokens carry nothing: the order of the instructions says which copies are in which group.
// PTX ISA: "cp.async", "cp.async.commit_group", "cp.async.wait_group".
// Tests: tests/mlir/lower/async_copy.mlir.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"
#include "nvgpu/matrix_type.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

constexpr unsigned kGlobal = 1; // LLVM's number of global memory

Value token(ConversionPatternRewriter& rewriter, Location where) {
  return LLVM::ConstantOp::create(rewriter, where, rewriter.getI32Type(), rewriter.getI32IntegerAttr(0));
}

struct LowerCopy : Lowering<DeviceAsyncCopyOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(DeviceAsyncCopyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const auto from = cast<MemRefType>(op.getSrc().getType());
    const auto to = cast<MemRefType>(op.getDst().getType());
    const Value to_address =
        shared_address(rewriter, where, *getTypeConverter(), to, adaptor.getDst(), adaptor.getDstIndices());
    Value from_pointer = element_pointer(rewriter, where, *getTypeConverter(), from, adaptor.getSrc(),
                                         adaptor.getSrcIndices());
    if (cast<LLVM::LLVMPointerType>(from_pointer.getType()).getAddressSpace() != kGlobal)
      from_pointer = LLVM::AddrSpaceCastOp::create(
          rewriter, where, LLVM::LLVMPointerType::get(rewriter.getContext(), kGlobal), from_pointer);

    const int64_t bits = element_bits(to.getElementType());
    const int64_t elements = op.getDstElements().getSExtValue();
    PtxCall call = ptx(rewriter, where);
    call.spelled(op.getBypassL1().value_or(false) ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global")
        .address(to_address)
        .address(from_pointer)
        .text(std::to_string(elements * bits / 8));
    if (const Value wanted = adaptor.getSrcElements())
      call.reads(source_bytes(rewriter, where, wanted, elements, bits));
    if (failed(call.emit()))
      return failure();
    rewriter.replaceOp(op, token(rewriter, where));
    return success();
  }

private:
  // PTX leaves undefined what more source bytes than destination bytes do. At the end of a row a program
  // computes such numbers, and negative ones, so they are clamped. An odd number of nibbles ends in a byte.
  static Value source_bytes(ConversionPatternRewriter& rewriter, Location where, Value elements, int64_t most,
                            int64_t bits) {
    const Type type = elements.getType();
    const auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, where, type, rewriter.getIntegerAttr(type, value));
    };
    Value value = LLVM::SMaxOp::create(rewriter, where, elements, constant(0));
    value = LLVM::SMinOp::create(rewriter, where, value, constant(most));
    value = LLVM::MulOp::create(rewriter, where, value, constant(bits));
    if (bits % 8 != 0)
      value = LLVM::AddOp::create(rewriter, where, value, constant(8 - bits));
    value = LLVM::LShrOp::create(rewriter, where, value, constant(3));
    return as_i32(rewriter, where, value);
  }
};

struct LowerCreateGroup : Lowering<DeviceAsyncCreateGroupOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(DeviceAsyncCreateGroupOp op, OpAdaptor,
                                ConversionPatternRewriter& rewriter) const override {
    if (failed(ptx(rewriter, op.getLoc()).spelled("cp.async.commit_group").emit()))
      return failure();
    rewriter.replaceOp(op, token(rewriter, op.getLoc()));
    return success();
  }
};

struct LowerWait : Lowering<DeviceAsyncWaitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(DeviceAsyncWaitOp op, OpAdaptor,
                                ConversionPatternRewriter& rewriter) const override {
    return replace(op, rewriter,
                   ptx(rewriter, op.getLoc())
                       .spelled("cp.async.wait_group")
                       .text(std::to_string(op.getNumGroups().value_or(0)))
                       .emit());
  }
};

} // namespace

Value as_i32(OpBuilder& builder, Location where, Value value) {
  const Type type = builder.getI32Type();
  const unsigned bits = value.getType().getIntOrFloatBitWidth();
  if (bits == 32)
    return value;
  if (bits > 32)
    return LLVM::TruncOp::create(builder, where, type, value);
  return LLVM::ZExtOp::create(builder, where, type, value);
}

void populate_async_copy_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                                  RewritePatternSet& patterns) {
  patterns.add<LowerCopy, LowerCreateGroup, LowerWait>(converter, target);
}

} // namespace lemma::nvgpu

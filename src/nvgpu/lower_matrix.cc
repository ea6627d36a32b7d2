// ldmatrix, mma.sync, mma.sp.sync and rcp as PTX.
//
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions".
// Tests: tests/mlir/lower/.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"
#include "nvgpu/matrix_type.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

struct LowerLdMatrix : Lowering<LdMatrixOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(LdMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const Value address =
        shared_address(rewriter, where, *getTypeConverter(), cast<MemRefType>(op.getSrcMemref().getType()),
                       adaptor.getSrcMemref(), adaptor.getIndices());
    const SmallVector<Type> registers(op.getNumTiles(), rewriter.getI32Type());
    auto loaded = ptx(rewriter, where)
                      .spelled(fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", op.getNumTiles(),
                                           op.getTranspose() ? ".trans" : ""))
                      .writes(TypeRange(registers))
                      .address(address)
                      .emit();
    if (failed(loaded))
      return failure();
    const auto type = cast<VectorType>(op.getRes().getType());
    rewriter.replaceOp(op,
                       from_registers(rewriter, where, *loaded, type, getTypeConverter()->convertType(type)));
    return success();
  }
};

struct LowerStMatrix : Lowering<StMatrixOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(StMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const Value address =
        shared_address(rewriter, where, *getTypeConverter(), cast<MemRefType>(op.getDstMemref().getType()),
                       adaptor.getDstMemref(), adaptor.getIndices());
    const auto type = cast<VectorType>(op.getValue().getType());
    return replace(
        op, rewriter,
        ptx(rewriter, where)
            .spelled(fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", type.getDimSize(0),
                                 op.getTranspose() ? ".trans" : ""))
            .address(address)
            .reads(ValueRange(to_registers(rewriter, where, adaptor.getValue(), type, rewriter.getI32Type())))
            .emit());
  }
};

// A, B and C as registers, the instruction, D as a vector.
template <class Op>
struct LowerProduct : Lowering<Op> {
  using Lowering<Op>::Lowering;
  using Adaptor = typename Op::Adaptor;

  LogicalResult matchAndRewrite(Op op, Adaptor adaptor, ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const auto instruction = instruction_of(op, [&] { return op.emitOpError(); });
    if (failed(instruction))
      return failure();
    const auto type_of_operand = [&](size_t operand) {
      return register_type(rewriter.getContext(), instruction->registers(operand).type);
    };
    const auto registers = [&](Value value, Value original, size_t operand) {
      return to_registers(rewriter, where, value, cast<VectorType>(original.getType()),
                          type_of_operand(operand));
    };
    const SmallVector<Type> results(static_cast<size_t>(instruction->registers(0).count), type_of_operand(0));
    PtxCall call = this->ptx(rewriter, where);
    call.spelled(instruction->spelling())
        .writes(TypeRange(results))
        .reads(ValueRange(registers(adaptor.getMatrixA(), op.getMatrixA(), 1)))
        .reads(ValueRange(registers(adaptor.getMatrixB(), op.getMatrixB(), 2)))
        .reads(ValueRange(registers(adaptor.getMatrixC(), op.getMatrixC(), 3)));
    if constexpr (std::is_same_v<Op, MmaSparseSyncOp>) {
      const Value metadata =
          LLVM::BitcastOp::create(rewriter, where, rewriter.getI32Type(), adaptor.getSparseMetadata());
      call.reads(metadata).text(fmt::format("0x{:x}", op.getSparsitySelector()));
    }
    // A product changes no memory, but all lanes must be there: it must not be moved into a branch.
    auto product = call.emit(/*touches_memory=*/false);
    if (failed(product))
      return failure();
    const auto type = cast<VectorType>(op.getRes().getType());
    rewriter.replaceOp(
        op, from_registers(rewriter, where, *product, type, this->getTypeConverter()->convertType(type)));
    return success();
  }
};

struct LowerRcp : Lowering<RcpOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(RcpOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const auto type = cast<VectorType>(op.getIn().getType());
    const std::string spelling = fmt::format(
        "rcp.{}{}.f32", std::string_view(stringifyEnum(op.getRounding())), op.getFtz() ? ".ftz" : "");
    SmallVector<Value> results;
    for (const Value element : to_registers(rewriter, where, adaptor.getIn(), type, rewriter.getF32Type())) {
      auto result =
          ptx(rewriter, where).spelled(spelling).writes(rewriter.getF32Type()).reads(element).emit(false);
      if (failed(result))
        return failure();
      results.push_back(result->front());
    }
    rewriter.replaceOp(op,
                       from_registers(rewriter, where, results, type, getTypeConverter()->convertType(type)));
    return success();
  }
};

} // namespace

// LLVM gives an i4 a byte of its own, so the address is computed here. An odd index stands in the middle of a
// byte: its address is made odd, so that the access is misaligned rather than another one.
static Value packed_pointer(ConversionPatternRewriter& rewriter, Location where,
                            const LLVMTypeConverter& converter, MemRefType type, Value converted,
                            ValueRange indices) {
  MemRefDescriptor memref(converted);
  const Type word = converter.getIndexType();
  const auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(rewriter, where, word, rewriter.getIntegerAttr(word, value));
  };
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset); // the verifier refuses memrefs without
  Value element = ShapedType::isDynamic(offset) ? memref.offset(rewriter, where) : constant(offset);
  for (const auto [i, index] : llvm::enumerate(indices)) {
    const Value stride = ShapedType::isDynamic(strides[i])
                             ? memref.stride(rewriter, where, static_cast<unsigned>(i))
                             : constant(strides[i]);
    element =
        LLVM::AddOp::create(rewriter, where, element, LLVM::MulOp::create(rewriter, where, index, stride));
  }
  const Value byte =
      LLVM::OrOp::create(rewriter, where, LLVM::AShrOp::create(rewriter, where, element, constant(1)),
                         LLVM::AndOp::create(rewriter, where, element, constant(1)));
  const Value start = memref.alignedPtr(rewriter, where);
  return LLVM::GEPOp::create(rewriter, where, start.getType(), rewriter.getI8Type(), start, byte);
}

Value element_pointer(ConversionPatternRewriter& rewriter, Location where, const LLVMTypeConverter& converter,
                      MemRefType type, Value converted, ValueRange indices) {
  if (is_packed(type.getElementType()))
    return packed_pointer(rewriter, where, converter, type, converted, indices);
  return LLVM::getStridedElementPtr(rewriter, where, converter, type, converted, indices);
}

Value shared_address(ConversionPatternRewriter& rewriter, Location where, const LLVMTypeConverter& converter,
                     MemRefType type, Value converted, ValueRange indices) {
  return LLVM::PtrToIntOp::create(rewriter, where, rewriter.getI32Type(),
                                  element_pointer(rewriter, where, converter, type, converted, indices));
}

void populate_matrix_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                              RewritePatternSet& patterns) {
  patterns
      .add<LowerLdMatrix, LowerStMatrix, LowerProduct<MmaSyncOp>, LowerProduct<MmaSparseSyncOp>, LowerRcp>(
          converter, target);
}

} // namespace lemma::nvgpu

// tma.create.descriptor on the host: a call of the runtime, which makes the map and puts it into device
// memory.
//
// Tests: tests/mlir/lower/tma.mlir, errors_host.mlir.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"
#include "nvgpu/tensor_map_type.h"

#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// The enumerations of lemma/tensor_map.h number their values as the driver's do.
template <class Enum>
int32_t driver_value(Enum value) {
  return static_cast<int32_t>(value);
}

struct LowerCreateDescriptor : ConvertOpToLLVMPattern<TmaCreateDescriptorOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(TmaCreateDescriptorOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const bool im2col = op.getPixelBoxLower().has_value();
    const TensorMap map =
        tensor_map_of(op.getTensorMap().getType(), im2col ? TensorMode::im2col : TensorMode::tile);
    UnrankedMemRefDescriptor tensor(adaptor.getTensor());
    SmallVector<Value> arguments{tensor.rank(rewriter, where), tensor.memRefDescPtr(rewriter, where)};
    for (const int32_t value :
         {driver_value(map.type), driver_value(map.interleave), driver_value(map.swizzle),
          driver_value(map.l2_promotion), driver_value(map.oob_fill)})
      arguments.push_back(LLVM::ConstantOp::create(rewriter, where, rewriter.getI32Type(), value));
    StringRef function = "mgpuTensorMapEncodeTiledMemref";
    if (im2col) {
      function = "mgpuTensorMapEncodeIm2colMemref";
      // The attribute has the innermost dimension first, the runtime takes a memref's order.
      arguments.push_back(array_of(rewriter, where, constants(rewriter, where, *op.getPixelBoxLower())));
      arguments.push_back(array_of(rewriter, where, constants(rewriter, where, *op.getPixelBoxUpper())));
      arguments.push_back(constant(rewriter, where, *op.getChannelsPerPixel()));
      arguments.push_back(constant(rewriter, where, *op.getPixelsPerColumn()));
      arguments.push_back(
          LLVM::ZeroOp::create(rewriter, where, LLVM::LLVMPointerType::get(rewriter.getContext())));
    } else {
      arguments.push_back(array_of(rewriter, where, llvm::to_vector(adaptor.getBoxDimensions())));
    }
    SmallVector<Type> types;
    for (const Value argument : arguments)
      types.push_back(argument.getType());
    const FunctionCallBuilder call(function, LLVM::LLVMPointerType::get(rewriter.getContext()), types);
    rewriter.replaceOp(op, call.create(where, rewriter, arguments).getResult());
    return success();
  }

private:
  static Value constant(OpBuilder& builder, Location where, int64_t value) {
    return LLVM::ConstantOp::create(builder, where, builder.getI64Type(), value);
  }

  static SmallVector<Value> constants(OpBuilder& builder, Location where, ArrayRef<int32_t> values) {
    SmallVector<Value> made;
    for (const int32_t value : llvm::reverse(values))
      made.push_back(constant(builder, where, value));
    return made;
  }

  // An array of 64-bit integers on the stack.
  static Value array_of(OpBuilder& builder, Location where, const SmallVector<Value>& values) {
    const Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    const Value array = LLVM::AllocaOp::create(builder, where, pointer, builder.getI64Type(),
                                               constant(builder, where, static_cast<int64_t>(values.size())));
    for (const auto& [i, value] : llvm::enumerate(values)) {
      const Value place = LLVM::GEPOp::create(builder, where, pointer, builder.getI64Type(), array,
                                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(builder, where, value, place);
    }
    return array;
  }
};

} // namespace

void populate_host_lowering(const LLVMTypeConverter& converter, RewritePatternSet& patterns) {
  patterns.add<LowerCreateDescriptor>(converter);
}

} // namespace lemma::nvgpu

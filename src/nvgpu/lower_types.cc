// What the dialect's types are in the LLVM dialect.
//
// Tests: tests/mlir/lower/.
#include "nvgpu/dialect.h"
#include "nvgpu/lower.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace lemma::nvgpu {

using namespace mlir;

// An accumulator is a struct of registers: for each 64 rows those of one wgmma.mma_async, two f16 to a
// register.
static Type accumulator_registers(WarpgroupAccumulatorType type) {
  const VectorType matrix = type.getFragmented();
  MLIRContext* context = type.getContext();
  const Type element = matrix.getElementType();
  const int64_t per_thread = matrix.getNumElements() / 128;
  if (element.isF16())
    return LLVM::LLVMStructType::getLiteral(
        context, SmallVector<Type>(static_cast<size_t>(per_thread / 2), IntegerType::get(context, 32)));
  return LLVM::LLVMStructType::getLiteral(context,
                                          SmallVector<Type>(static_cast<size_t>(per_thread), element));
}

void add_type_conversions(LLVMTypeConverter& converter) {
  MLIRContext* context = &converter.getContext();
  const auto integer = [context](unsigned bits) { return IntegerType::get(context, bits); };
  converter.addConversion([=](DeviceAsyncTokenType) -> Type { return integer(32); });
  converter.addConversion([=](MBarrierTokenType) -> Type { return integer(64); });
  converter.addConversion([=](WarpgroupMatrixDescriptorType) -> Type { return integer(64); });
  converter.addConversion([=](MBarrierGroupType) -> Type { return LLVM::LLVMPointerType::get(context, 3); });
  converter.addConversion(
      [=](TensorMapDescriptorType) -> Type { return LLVM::LLVMPointerType::get(context); });
  // In memory and in registers a tf32 is an f32, of which an instruction ignores the low bits.
  converter.addConversion([context](FloatTF32Type) -> Type { return Float32Type::get(context); });
  converter.addConversion([](WarpgroupAccumulatorType type) -> Type { return accumulator_registers(type); });
}

} // namespace lemma::nvgpu

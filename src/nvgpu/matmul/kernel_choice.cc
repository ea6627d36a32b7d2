// Types of products and the kernels that have them.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel_choice.h"

#include "mlir/IR/BuiltinTypes.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

bool has_wgmma(const ProductTypes& types) {
  if (types.b != types.a)
    return false;
  if (types.a.isF16() || types.a.isBF16())
    return types.c.isF32() || types.c == types.a;
  if (llvm::isa<Float8E4M3FNType, Float8E5M2Type>(types.a))
    return types.c.isF32() || types.c.isF16() || types.c.isBF16();
  return types.a.isSignlessInteger(8) && types.c.isSignlessInteger(32);
}

} // namespace

std::optional<MatmulFamily> kernel_for(isa::Target target, const ProductTypes& types) {
  if (target == isa::Target{90, 'a'} && has_wgmma(types))
    return MatmulFamily::wgmma;
  return std::nullopt;
}

} // namespace lemma::nvgpu

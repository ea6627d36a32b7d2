// Types of products and the kernels that have them.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel_choice.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

bool has_wgmma(const ProductTypes& types) {
  if (types.b != types.a)
    return false;
  if (types.a.isF16() || types.a.isBF16())
    return types.c.isF32() || types.c == types.a;
  if (types.a.isF32())
    return types.allows_tf32 && types.c.isF32();
  if (llvm::isa<Float8E4M3FNType, Float8E5M2Type>(types.a))
    return types.c.isF32() || types.c.isF16() || types.c.isBF16();
  return types.a.isSignlessInteger(8) && types.c.isSignlessInteger(32);
}

// mma.sync on `target`; f32 is multiplied as tf32.
bool has_mma(isa::Target target, const ProductTypes& types) {
  if (types.b != types.a)
    return false;
  if (types.a.isF32())
    return types.allows_tf32 && types.c.isF32();
  if (types.a.isF64())
    return types.c.isF64();
  if (types.a.isSignlessInteger(8))
    return types.c.isSignlessInteger(32);
  if (llvm::isa<Float8E4M3FNType, Float8E5M2Type>(types.a))
    return target.sm >= 89 && (types.c.isF32() || types.c.isF16() || types.c.isBF16());
  return (types.a.isF16() || types.a.isBF16()) && (types.c.isF32() || types.c == types.a);
}

} // namespace

bool takes(MatmulFamily family, isa::Target target, const ProductTypes& types) {
  switch (family) {
  case MatmulFamily::wgmma:
    return target == isa::Target{90, 'a'} && has_wgmma(types);
  case MatmulFamily::mma:
    return target.sm >= 80 && has_mma(target, types);
  case MatmulFamily::fma:
    return target.sm >= 80 && types.a.isF32() && types.b.isF32() && types.c.isF32();
  }
  llvm_unreachable("no such family");
}

std::optional<MatmulFamily> kernel_for(isa::Target target, const ProductTypes& types) {
  for (const MatmulFamily family : {MatmulFamily::wgmma, MatmulFamily::mma, MatmulFamily::fma})
    if (takes(family, target, types))
      return family;
  return std::nullopt;
}

} // namespace lemma::nvgpu

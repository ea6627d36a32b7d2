// Types of products and the kernels that have them.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/kernel_choice.h"

#include "isa/form.h"
#include "nvgpu/instruction.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// Of wgmma, and of tcgen05.mma, where the target has them.
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

// Targets with tensor memory; not all of them multiply integers there.
bool has_tcgen05(isa::Target target, const ProductTypes& types) {
  const auto product = Instruction::find("tcgen05.mma.cta_group::1.kind::f16");
  return product && product->is_available(target) && has_wgmma(types) &&
         (!types.a.isInteger(8) || isa::need_of(isa::Qual::kind_i8)->targets.contains(target));
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
  case MatmulFamily::tcgen05:
    return has_tcgen05(target, types);
  case MatmulFamily::mma:
    return target.sm >= 80 && has_mma(target, types);
  case MatmulFamily::fma:
    return target.sm >= 80 && types.a.isF32() && types.b.isF32() && types.c.isF32();
  }
  llvm_unreachable("no such family");
}

std::optional<MatmulFamily> kernel_for(isa::Target target, const ProductTypes& types) {
  for (const MatmulFamily family :
       {MatmulFamily::wgmma, MatmulFamily::tcgen05, MatmulFamily::mma, MatmulFamily::fma})
    if (takes(family, target, types))
      return family;
  return std::nullopt;
}

} // namespace lemma::nvgpu

// tanh, exp and exp2 in terms of tanh.approx, ex2.approx and rcp.approx.
//
// PTX ISA: ex2, rcp, tanh. Tests: tests/mlir/matmul/activation.mlir, matmul.py.
#include "nvgpu/matmul/activation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// Operations of f32 at a place.
struct Numbers {
  OpBuilder& builder;
  Location where;

  Value constant(float value) const {
    return arith::ConstantOp::create(builder, where, builder.getF32FloatAttr(value));
  }
  // 2^x, subnormal results as zero.
  Value exp2(Value x) const {
    return LLVM::CallIntrinsicOp::create(builder, where, builder.getF32Type(),
                                         builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), ValueRange(x))
        .getResult(0);
  }
  Value exp(Value x) const { return exp2(multiply(x, constant(1.44269504F))); } // log2(e)
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(builder, where, x, y, z); }
  Value multiply(Value x, Value y) const { return arith::MulFOp::create(builder, where, x, y); }
  Value fast_tanh(Value x) const {
    return LLVM::TanhOp::create(builder, where, builder.getF32Type(), x, LLVM::FastmathFlags::afn);
  }
};

// Near zero a polynomial, whose relative error stays small there; further out 1 - 2 / (e^2|x| + 1) with x's
// sign, which is exactly 1 where e^2|x| overflows.
Value tanh_of(const Numbers& numbers, Value x) {
  OpBuilder& builder = numbers.builder;
  const Location where = numbers.where;
  // Minimax of the relative error where it is used.
  constexpr float kLargest = 0.55F, kPolynomial[] = {0.01643758F, -0.052671812F, 0.13320725F, -0.33332947F};
  constexpr float kTwiceLog2E = 2.88539008F;
  const Value square = numbers.multiply(x, x);
  Value polynomial = numbers.constant(kPolynomial[0]);
  for (const float coefficient : ArrayRef(kPolynomial).drop_front())
    polynomial = numbers.fma(polynomial, square, numbers.constant(coefficient));
  const Value near = numbers.fma(numbers.multiply(polynomial, square), x, x);

  const Value magnitude = math::AbsFOp::create(builder, where, x);
  const Value power = numbers.exp2(numbers.multiply(magnitude, numbers.constant(kTwiceLog2E)));
  const Value one = numbers.constant(1);
  const Value inverse = NVVM::RcpApproxFtzF32Op::create(
      builder, where, builder.getF32Type(), arith::AddFOp::create(builder, where, power, one).getResult());
  const Value far =
      math::CopySignOp::create(builder, where, numbers.fma(inverse, numbers.constant(-2), one), x);
  const Value is_near =
      arith::CmpFOp::create(builder, where, arith::CmpFPredicate::OLT, magnitude, numbers.constant(kLargest));
  return arith::SelectOp::create(builder, where, is_near, near, far);
}

// What takes the operation's place; null: it stays.
Value function_of(const Numbers& numbers, Operation* op, bool is_narrow) {
  if (auto tanh = dyn_cast<math::TanhOp>(op))
    return is_narrow ? numbers.fast_tanh(tanh.getOperand()) : tanh_of(numbers, tanh.getOperand());
  if (auto exp = dyn_cast<math::ExpOp>(op); exp && is_narrow)
    return numbers.exp(exp.getOperand());
  if (auto exp2 = dyn_cast<math::Exp2Op>(op); exp2 && is_narrow)
    return numbers.exp2(exp2.getOperand());
  return {};
}

} // namespace

void use_machine_functions(func::FuncOp product, bool is_narrow) {
  product.walk([&](Operation* op) {
    if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
      return;
    if (auto division = dyn_cast<arith::DivFOp>(op); division && is_narrow) {
      division.setFastmath(division.getFastmath() | arith::FastMathFlags::afn);
      return;
    }
    OpBuilder builder(op);
    if (const Value value = function_of({builder, op->getLoc()}, op, is_narrow)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  });
}

} // namespace lemma::nvgpu

// Conversions between floats of 8 bits and wider ones: what arith means by them, on every target and on the
// host. Where there is a cvt to them (sm_89), it is made do: it saturates where arith.truncf makes an
// infinity or, of f8E4M3FN, a NaN. Elsewhere they are integer operations: LLVM has no types for these floats.
//
// Formats: OCP 8-bit Floating Point Specification, E4M3 and E5M2. PTX ISA: cvt. Tests:
// tests/mlir/linalg/linalg.py, its case conversions.
#include "nvgpu/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <bit>
#include <optional>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

struct NarrowFormat {
  int64_t fraction_bits, bias;
  int64_t overflow;  // the f32, as bits, from which on results are `overflown`
  int64_t overflown; // without the sign
  int64_t nan;       // that a conversion makes
  int64_t least_nan; // without the sign
  float least_normal;
};

constexpr NarrowFormat kE4m3{.fraction_bits = 3,
                             .bias = 7,
                             .overflow = 0x43E80001, // beyond 464, half way to 480, where 448 is even
                             .overflown = 0x7F,
                             .nan = 0x7F,
                             .least_nan = 0x7F,
                             .least_normal = 0x1p-6F};
constexpr NarrowFormat kE5m2{.fraction_bits = 2,
                             .bias = 15,
                             .overflow = 0x47700000, // 61440, half way to 65536, which would be even
                             .overflown = 0x7C,
                             .nan = 0x7F,
                             .least_nan = 0x7D,
                             .least_normal = 0x1p-14F};

std::optional<NarrowFormat> format_of(Type type) {
  const Type element = getElementTypeOrSelf(type);
  if (llvm::isa<Float8E4M3FNType>(element))
    return kE4m3;
  if (llvm::isa<Float8E5M2Type>(element))
    return kE5m2;
  return std::nullopt;
}

constexpr int64_t kF32FractionBits = 23, kF32Bias = 127, kF32Infinity = 0x7F800000,
                  kF32Magnitude = 0x7FFFFFFF;

// Operations of numbers, or of vectors of them, shaped as a type is.
class Numbers {
public:
  Numbers(Operation* op, Type shape) : b_(op->getLoc(), op), shape_(shape) {}

  Type like(Type element) const {
    auto vector = dyn_cast<VectorType>(shape_);
    return vector ? Type(vector.clone(element)) : element;
  }
  Type integer(unsigned bits) { return like(b_.getIntegerType(bits)); }
  Type f32() { return like(b_.getF32Type()); }

  Value constant(Type type, TypedAttr element) {
    if (const auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b_, DenseElementsAttr::get(vector, Attribute(element)));
    return arith::ConstantOp::create(b_, element);
  }
  Value number(int64_t value, unsigned bits = 32) {
    return constant(integer(bits), b_.getIntegerAttr(b_.getIntegerType(bits), value));
  }
  Value number(float value) { return constant(f32(), b_.getF32FloatAttr(value)); }

  template <class Op>
  Value convert(Type to, Value from) {
    return Op::create(b_, to, from);
  }

  // Rounded once, whatever comes after it: of two neighbours of a f64 that is neither the one that is odd.
  Value to_odd_f32(Value wide) {
    const Value nearest = arith::TruncFOp::create(b_, f32(), wide);
    const Value again = arith::ExtFOp::create(b_, wide.getType(), nearest);
    const Value bits = arith::BitcastOp::create(b_, integer(32), nearest);
    const Value is_other = arith::CmpFOp::create(b_, arith::CmpFPredicate::ONE, again, wide);
    const Value last = arith::AndIOp::create(b_, bits, number(int64_t{1}));
    const Value is_even = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, last, number(int64_t{0}));
    const Value zero = constant(wide.getType(), b_.getF64FloatAttr(0));
    // Away from zero it was rounded, if what it lost points there.
    const Value is_negative = arith::CmpFOp::create(b_, arith::CmpFPredicate::OLT, wide, zero);
    const Value is_above = arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT, again, wide);
    const Value is_outward = arith::XOrIOp::create(b_, is_negative, is_above);
    const Value inward = arith::SubIOp::create(b_, bits, number(int64_t{1}));
    const Value outward = arith::AddIOp::create(b_, bits, number(int64_t{1}));
    const Value odd = arith::SelectOp::create(b_, is_outward, inward, outward);
    const Value moves = arith::AndIOp::create(b_, is_other, is_even);
    return arith::BitcastOp::create(b_, f32(), arith::SelectOp::create(b_, moves, odd, bits));
  }

  Value to_f32(Value wide) {
    const Type element = getElementTypeOrSelf(wide.getType());
    if (element.isF32())
      return wide;
    return element.isF64() ? to_odd_f32(wide) : arith::ExtFOp::create(b_, f32(), wide).getResult();
  }

  // By cvt, which saturates: what is too large is a NaN before, or one more than the largest, an infinity,
  // after.
  Value narrow_by_instruction(Value wide, Type to, const NarrowFormat& format) {
    const Type element = getElementTypeOrSelf(to);
    Value value = to_f32(wide);
    const Value bits = arith::BitcastOp::create(b_, integer(32), value);
    const Value magnitude = arith::AndIOp::create(b_, bits, number(kF32Magnitude));
    Value overflows =
        arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, magnitude, number(format.overflow));
    const bool has_infinity = format.overflown < format.least_nan;
    if (!has_infinity)
      value = arith::SelectOp::create(b_, overflows, number(std::bit_cast<float>(0x7FFFFFFF)), value);
    Value word = for_each_element(value, [&](Value one) -> Value {
      const Value zero = arith::ConstantOp::create(b_, b_.getF32FloatAttr(0));
      const Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
          b_, b_.getI16Type(), zero, one, NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
          /*relu=*/false, element);
      return arith::TruncIOp::create(b_, b_.getI8Type(), pair);
    });
    if (has_infinity) {
      const Value is_number =
          arith::CmpIOp::create(b_, arith::CmpIPredicate::ule, magnitude, number(kF32Infinity));
      overflows = arith::AndIOp::create(b_, overflows, is_number);
      word = arith::AddIOp::create(b_, word, arith::ExtUIOp::create(b_, integer(8), overflows));
    }
    return arith::BitcastOp::create(b_, to, word);
  }

  // A number's, or all of a vector's.
  Value for_each_element(Value values, llvm::function_ref<Value(Value)> make) {
    const auto vector = dyn_cast<VectorType>(values.getType());
    if (!vector)
      return make(values);
    SmallVector<Value> made;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      made.push_back(make(vector::ExtractOp::create(b_, values, i)));
    return vector::FromElementsOp::create(b_, integer(8), made);
  }

  Value narrow(Value wide, Type to, const NarrowFormat& format) {
    const int64_t dropped = kF32FractionBits - format.fraction_bits;
    const Value bits = arith::BitcastOp::create(b_, integer(32), to_f32(wide));
    const Value magnitude = arith::AndIOp::create(b_, bits, number(kF32Magnitude));
    // Ties to even; exponents lose the difference of the biases.
    const Value last =
        arith::AndIOp::create(b_, arith::ShRUIOp::create(b_, bits, number(dropped)), number(int64_t{1}));
    const Value below_half = number((int64_t{1} << (dropped - 1)) - 1);
    const Value up = arith::AddIOp::create(b_, arith::AddIOp::create(b_, magnitude, below_half), last);
    const Value normal = arith::SubIOp::create(b_, arith::ShRUIOp::create(b_, up, number(dropped)),
                                               number((kF32Bias - format.bias) << format.fraction_bits));
    // Subnormal results: a sum with a number whose last bit is the least of them rounds to it.
    const int64_t aligned = kF32Bias + (1 - format.bias - format.fraction_bits) + kF32FractionBits;
    const float aligner = std::bit_cast<float>(static_cast<uint32_t>(aligned << kF32FractionBits));
    const Value absolute = arith::BitcastOp::create(b_, f32(), magnitude);
    const Value sum =
        arith::BitcastOp::create(b_, integer(32), arith::AddFOp::create(b_, absolute, number(aligner)));
    const Value subnormal = arith::SubIOp::create(b_, sum, number(aligned << kF32FractionBits));
    const auto is_at_least = [&](int64_t bound) -> Value {
      return arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, magnitude, number(bound));
    };
    Value made = arith::SelectOp::create(b_, is_at_least(std::bit_cast<uint32_t>(format.least_normal)),
                                         normal, subnormal);
    made = arith::SelectOp::create(b_, is_at_least(format.overflow), number(format.overflown), made);
    made = arith::SelectOp::create(b_, is_at_least(kF32Infinity + 1), number(format.nan), made);
    const Value sign = arith::AndIOp::create(b_, arith::ShRUIOp::create(b_, bits, number(int64_t{24})),
                                             number(int64_t{0x80}));
    const Value word = arith::TruncIOp::create(b_, integer(8), arith::OrIOp::create(b_, made, sign));
    return arith::BitcastOp::create(b_, to, word);
  }

  Value widen(Value narrow, Type to, const NarrowFormat& format) {
    const Value byte = arith::BitcastOp::create(b_, integer(8), narrow);
    const Value word = arith::ExtUIOp::create(b_, integer(32), byte);
    const Value magnitude = arith::AndIOp::create(b_, word, number(int64_t{0x7F}));
    // The fraction where f32 has it; the product moves the exponent, and makes normals of subnormals.
    const Value placed =
        arith::ShLIOp::create(b_, magnitude, number(kF32FractionBits - format.fraction_bits));
    const int64_t scale = (2 * kF32Bias - format.bias) << kF32FractionBits;
    const Value scaled = arith::MulFOp::create(b_, arith::BitcastOp::create(b_, f32(), placed),
                                               number(std::bit_cast<float>(static_cast<uint32_t>(scale))));
    Value bits = arith::BitcastOp::create(b_, integer(32), scaled);
    const auto is_at_least = [&](int64_t bound) -> Value {
      return arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, magnitude, number(bound));
    };
    if (format.least_nan > format.overflown)
      bits = arith::SelectOp::create(b_, is_at_least(format.overflown), number(kF32Infinity), bits);
    bits = arith::SelectOp::create(b_, is_at_least(format.least_nan), number(kF32Magnitude), bits);
    const Value sign = arith::ShLIOp::create(b_, arith::AndIOp::create(b_, word, number(int64_t{0x80})),
                                             number(int64_t{24}));
    const Value made = arith::BitcastOp::create(b_, f32(), arith::OrIOp::create(b_, bits, sign));
    const Type element = getElementTypeOrSelf(to);
    if (element.isF32())
      return made;
    return element.isF64() ? arith::ExtFOp::create(b_, to, made).getResult()
                           : arith::TruncFOp::create(b_, to, made).getResult(); // exact
  }

private:
  ImplicitLocOpBuilder b_;
  Type shape_;
};

class ExpandNarrowFloats : public PassWrapper<ExpandNarrowFloats, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandNarrowFloats)
  StringRef getArgument() const override { return "lemma-expand-narrow-floats"; }
  StringRef getDescription() const override {
    return "Turn conversions of f8E4M3FN and f8E5M2 into integer operations, and compute in f32";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    if (getOperation().walk(is_computed).wasInterrupted() && failed(compute_in_f32()))
      return signalPassFailure();
    for (Operation& op : getOperation().getOps())
      if (!llvm::isa<gpu::GPUModuleOp>(op))
        expand_narrow_floats(&op, /*has_cvt=*/false);
  }

private:
  // Sums and comparisons of such floats, and whatever else.
  static WalkResult is_computed(Operation* op) {
    if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()) ||
        llvm::isa<arith::TruncFOp, arith::ExtFOp, arith::BitcastOp, arith::ConstantOp, arith::SelectOp>(op))
      return WalkResult::advance();
    const auto is_narrow = [](Type type) { return format_of(type).has_value(); };
    return llvm::any_of(op->getOperandTypes(), is_narrow) || llvm::any_of(op->getResultTypes(), is_narrow)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  }

  LogicalResult compute_in_f32() {
    arith::ArithEmulateUnsupportedFloatsOptions options;
    options.sourceTypeStrs = {"f8E4M3FN", "f8E5M2"};
    OpPassManager emulate(ModuleOp::getOperationName());
    emulate.addPass(arith::createArithEmulateUnsupportedFloats(options));
    return runPipeline(emulate, getOperation());
  }
};

} // namespace

namespace {

// Conversions of integers to these floats and back by way of f32, which has all that they have. Of an
// arith.truncf of an f32 that was an integer, canonicalization makes one.
void split_conversions(Operation* root) {
  root->walk([](Operation* op) {
    if (llvm::isa<arith::FPToSIOp, arith::FPToUIOp>(op) && format_of(op->getOperand(0).getType())) {
      Numbers numbers(op, op->getOperand(0).getType());
      op->setOperand(0, numbers.convert<arith::ExtFOp>(numbers.f32(), op->getOperand(0)));
    }
    if (!llvm::isa<arith::SIToFPOp, arith::UIToFPOp>(op) || !format_of(op->getResult(0).getType()))
      return;
    const Type to = op->getResult(0).getType();
    Numbers numbers(op->getNextNode(), to);
    op->getResult(0).setType(numbers.f32());
    const Value narrow = numbers.convert<arith::TruncFOp>(to, op->getResult(0));
    op->getResult(0).replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  });
}

} // namespace

bool expand_narrow_floats(Operation* root, bool has_cvt) {
  split_conversions(root);
  SmallVector<Operation*> conversions;
  root->walk([&](Operation* op) {
    if (llvm::isa<arith::TruncFOp, arith::ExtFOp>(op) &&
        (format_of(op->getOperand(0).getType()) || format_of(op->getResult(0).getType())))
      conversions.push_back(op);
  });
  bool uses_cvt = false;
  for (Operation* op : conversions) {
    const Value from = op->getOperand(0);
    const Type to = op->getResult(0).getType();
    const auto narrow = format_of(to);
    const auto wide = format_of(from.getType());
    if ((narrow && wide) || op->hasAttr("roundingmode"))
      continue; // there is none, or not of this kind: the lowering says so
    Numbers numbers(op, to);
    const auto vector = dyn_cast<VectorType>(to);
    const bool by_cvt = narrow && has_cvt && (!vector || vector.getRank() == 1);
    uses_cvt |= by_cvt;
    op->getResult(0).replaceAllUsesWith(by_cvt   ? numbers.narrow_by_instruction(from, to, *narrow)
                                        : narrow ? numbers.narrow(from, to, *narrow)
                                                 : numbers.widen(from, to, *wide));
    op->erase();
  }
  return uses_cvt;
}

std::unique_ptr<Pass> create_expand_narrow_floats_pass() {
  return std::make_unique<ExpandNarrowFloats>();
}

} // namespace lemma::nvgpu

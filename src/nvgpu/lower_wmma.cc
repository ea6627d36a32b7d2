// gpu.subgroup_mma_*: what MLIR's own patterns for these operations do not do. They end the process for most
// of the elementwise operations and for constants of tf32 and 8-bit integers, do not have single elements,
// and of a shape that no instruction has they say only that it is not legal.
//
// A fragment is a struct of registers (of f64 multiplicands the register itself): f32, f64, i32, two f16,
// four 8-bit integers in an i32, or a tf32 in an i32. Which thread has which element does not matter to what
// is done here, but for extf: the f16 and the f32 accumulators of one shape have their elements in the same
// order (layout/fragment.h).
//
// Not here: stores and products themselves, and loads but for one kind, which are MLIR's.
// PTX ISA: wmma. Tests: tests/mlir/lower/wmma.mlir, wmma_invalid.mlir, tests/mlir/matrix.
#include "nvgpu/lower.h"

#include "isa/catalogue.h"
#include "isa/effects.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// --- what PTX has ---

layout::Matrix matrix_of(gpu::MMAMatrixType type) {
  return type.getOperand() == "AOp"   ? layout::Matrix::a
         : type.getOperand() == "BOp" ? layout::Matrix::b
                                      : layout::Matrix::c;
}

isa::Type wmma_type(gpu::MMAMatrixType type) {
  const Type element = type.getElementType();
  if (element.isF16())
    return isa::Type::f16;
  if (element.isF32())
    return matrix_of(type) == layout::Matrix::c ? isa::Type::f32 : isa::Type::tf32;
  if (element.isF64())
    return isa::Type::f64;
  if (element.isSignedInteger(8))
    return isa::Type::s8;
  return element.isUnsignedInteger(8) ? isa::Type::u8 : isa::Type::s32;
}

// As !gpu.mma_matrix spells it; empty if it cannot.
std::string_view mlir_word(isa::Type type) {
  switch (type) {
  case isa::Type::f16:
    return "f16";
  case isa::Type::f32:
  case isa::Type::tf32:
    return "f32";
  case isa::Type::f64:
    return "f64";
  case isa::Type::s8:
    return "si8";
  case isa::Type::u8:
    return "ui8";
  case isa::Type::s32:
    return "i32";
  default:
    return {};
  }
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end())
    list.push_back(std::move(text));
}

// Whether a wmma.store, or a wmma.load, moves such a matrix.
LogicalResult check_moved(Operation* op, bool stores, gpu::MMAMatrixType type) {
  const isa::Effects moves = stores ? isa::effect::writes : isa::effect::reads;
  const layout::Matrix matrix = matrix_of(type);
  std::vector<std::string> legal;
  for (const isa::MatrixRow& row : isa::matrix_rows()) {
    if (row.fragments != isa::FragmentRule::wmma || row.numeric != isa::Numeric::none ||
        !isa::effects_of(row.opcode).has(moves) || row.matrix != (stores ? layout::Matrix::d : matrix))
      continue;
    const isa::TypeSet& types = stores                        ? row.types.d
                                : matrix == layout::Matrix::a ? row.types.a
                                : matrix == layout::Matrix::b ? row.types.b
                                                              : row.types.c;
    const int rows = matrix == layout::Matrix::b ? row.shape.k : row.shape.m;
    const int columns = matrix == layout::Matrix::a ? row.shape.k : row.shape.n;
    if ((!stores || matrix == layout::Matrix::c) && types.has(wmma_type(type)) &&
        type.getShape() == ArrayRef<int64_t>{rows, columns})
      return success();
    for (const isa::Type word : types)
      if (!mlir_word(word).empty())
        add_once(legal, fmt::format("{}x{}x{}", rows, columns, mlir_word(word)));
  }
  return op->emitOpError() << (stores ? "stores " : "loads ") << type << ", which no "
                           << (stores ? "wmma.store" : "wmma.load") << " does; legal: \""
                           << (stores ? StringRef("COp") : type.getOperand()) << "\" of "
                           << fmt::format("{}", fmt::join(legal, ", "));
}

LogicalResult check_product(gpu::SubgroupMmaComputeOp op) {
  const auto a = cast<gpu::MMAMatrixType>(op.getOpA().getType());
  const auto b = cast<gpu::MMAMatrixType>(op.getOpB().getType());
  const auto c = cast<gpu::MMAMatrixType>(op.getOpC().getType());
  const int64_t m = c.getShape()[0], n = c.getShape()[1], k = a.getShape()[1];
  std::vector<std::string> legal;
  for (const isa::MatrixRow& row : isa::matrix_rows()) {
    if (row.fragments != isa::FragmentRule::wmma || row.numeric == isa::Numeric::none)
      continue;
    for (const isa::Type type : row.types.a)
      for (const isa::Type sum : row.types.c) {
        if (!row.types.d.has(sum) || mlir_word(type).empty())
          continue;
        if (type == wmma_type(a) && type == wmma_type(b) && sum == wmma_type(c) && row.shape.m == m &&
            row.shape.n == n && row.shape.k == k)
          return success();
        add_once(legal, fmt::format("m{}n{}k{} {} -> {}", row.shape.m, row.shape.n, row.shape.k,
                                    mlir_word(type), mlir_word(sum)));
      }
  }
  return op.emitOpError() << "multiplies m" << m << "n" << n << "k" << k << " " << a.getElementType() << ", "
                          << b.getElementType() << " -> " << c.getElementType()
                          << ", which no wmma.mma does; legal: " << fmt::format("{}", fmt::join(legal, ", "));
}

using Kind = gpu::MMAElementwiseOp;

bool is_of_floats(Kind kind) {
  return kind == Kind::ADDF || kind == Kind::SUBF || kind == Kind::MULF || kind == Kind::DIVF ||
         kind == Kind::MAXF || kind == Kind::MINF || kind == Kind::NEGATEF || kind == Kind::EXTF;
}

LogicalResult check_elementwise(gpu::SubgroupMmaElementwiseOp op) {
  const Kind kind = op.getOpType();
  const bool unary = kind == Kind::NEGATEF || kind == Kind::NEGATES || kind == Kind::EXTF;
  if (op.getArgs().size() != (unary ? 1 : 2))
    return op.emitOpError() << gpu::stringifyMMAElementwiseOp(kind) << " takes "
                            << (unary ? "one matrix" : "two matrices");
  const auto from = cast<gpu::MMAMatrixType>(op.getArgs()[0].getType());
  const gpu::MMAMatrixType to = op.getType();
  const bool extends = from.getElementType().isF16() && to.getElementType().isF32() &&
                       from.getOperand() == "COp" && to.getOperand() == "COp" &&
                       from.getShape() == to.getShape();
  if (kind == Kind::EXTF && !extends)
    return op.emitOpError() << "extends " << from << " to " << to
                            << "; legal: \"COp\" of f16 to \"COp\" of f32 of the same shape";
  if (kind != Kind::EXTF && from != to)
    return op.emitOpError() << "makes " << to << " of " << from << "; only extf changes the type";
  if (is_of_floats(kind) != from.getElementType().isFloat())
    return op.emitOpError() << "has no " << gpu::stringifyMMAElementwiseOp(kind) << " of "
                            << from.getElementType() << "; legal: "
                            << (is_of_floats(kind) ? "addi, subi, muli, divs, divu, negates"
                                                   : "addf, subf, mulf, divf, maxf, minf, negatef");
  return success();
}

// --- registers and elements ---

// A register's type as its elements: <4 x i8> or f32 where the register is an i32.
Type elements_type(Type register_type, Type element) {
  if (element.getIntOrFloatBitWidth() == 8)
    return VectorType::get({4}, IntegerType::get(element.getContext(), 8));
  return element.isF32() ? element : register_type;
}

Value cast_to(OpBuilder& builder, Location where, Value value, Type type) {
  return value.getType() == type ? value : LLVM::BitcastOp::create(builder, where, type, value);
}

Value constant(OpBuilder& builder, Location where, int64_t value) {
  return LLVM::ConstantOp::create(builder, where, builder.getI32Type(),
                                  builder.getI32IntegerAttr(int32_t(value)));
}

struct Fragment {
  Type type;
  Type element;

  LLVM::LLVMStructType structure() const { return dyn_cast<LLVM::LLVMStructType>(type); }
  int64_t registers() const { return structure() ? int64_t(structure().getBody().size()) : 1; }
  Type register_type() const { return structure() ? structure().getBody()[0] : type; }
  Type elements_of_register() const { return elements_type(register_type(), element); }

  Value reg(OpBuilder& builder, Location where, Value matrix, int64_t i) const {
    const Value value = structure() ? LLVM::ExtractValueOp::create(builder, where, matrix, i) : matrix;
    return cast_to(builder, where, value, elements_of_register());
  }

  Value set(OpBuilder& builder, Location where, Value matrix, int64_t i, Value value) const {
    value = cast_to(builder, where, value, register_type());
    return structure() ? LLVM::InsertValueOp::create(builder, where, matrix, value, i) : value;
  }

  SmallVector<Value> elements(OpBuilder& builder, Location where, Value matrix) const {
    SmallVector<Value> all;
    for (int64_t i = 0; i < registers(); ++i) {
      const Value value = reg(builder, where, matrix, i);
      const auto vector = dyn_cast<VectorType>(value.getType());
      if (!vector)
        all.push_back(value);
      else
        for (int64_t j = 0; j < vector.getNumElements(); ++j)
          all.push_back(LLVM::ExtractElementOp::create(builder, where, value, constant(builder, where, j)));
    }
    return all;
  }

  Value pack(OpBuilder& builder, Location where, ArrayRef<Value> all) const {
    Value matrix = LLVM::PoisonOp::create(builder, where, type);
    for (int64_t i = 0; i < registers(); ++i) {
      const auto vector = dyn_cast<VectorType>(elements_of_register());
      Value value = vector ? Value(LLVM::PoisonOp::create(builder, where, vector)) : all.front();
      const int64_t count = vector ? vector.getNumElements() : 1;
      for (int64_t j = 0; vector && j < count; ++j)
        value =
            LLVM::InsertElementOp::create(builder, where, value, all[size_t(j)], constant(builder, where, j));
      all = all.drop_front(size_t(count));
      matrix = set(builder, where, matrix, i, value);
    }
    return matrix;
  }
};

template <class Op>
struct FragmentLowering : ConvertOpToLLVMPattern<Op> {
  // Before MLIR's.
  explicit FragmentLowering(const LLVMTypeConverter& converter)
      : ConvertOpToLLVMPattern<Op>(converter, PatternBenefit(2)) {}

  Fragment fragment_of(Type type) const {
    return {this->getTypeConverter()->convertType(type), cast<gpu::MMAMatrixType>(type).getElementType()};
  }
};

// --- the operations ---

// A fragment of one 32-bit register: 8x16 or 16x8 of 8-bit integers. LLVM's intrinsic makes that register;
// MLIR's pattern has it make a struct, and the translation to LLVM falls over that.
struct LowerLoadOfOneRegister : FragmentLowering<gpu::SubgroupMmaLoadMatrixOp> {
  using FragmentLowering::FragmentLowering;

  LogicalResult matchAndRewrite(gpu::SubgroupMmaLoadMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const auto type = cast<gpu::MMAMatrixType>(op.getRes().getType());
    const Fragment fragment = fragment_of(type);
    if (fragment.registers() != 1 || !fragment.structure())
      return failure();
    const Location where = op.getLoc();
    const Value address =
        element_pointer(rewriter, where, *getTypeConverter(), cast<MemRefType>(op.getSrcMemref().getType()),
                        adaptor.getSrcMemref(), adaptor.getIndices());
    const Value stride = constant(rewriter, where, op.getLeadDimension().getSExtValue());
    const auto intrinsic = rewriter.getStringAttr(
        fmt::format("llvm.nvvm.wmma.{}.{}.stride.{}",
                    matrix_of(type) == layout::Matrix::a ? "m8n32k16.load.a" : "m32n8k16.load.b",
                    op.getTranspose() ? "col" : "row", isa::to_string(wmma_type(type))));
    const Value loaded = LLVM::CallIntrinsicOp::create(rewriter, where, rewriter.getI32Type(), intrinsic,
                                                       ValueRange{address, stride})
                             .getResult(0);
    const Value empty = LLVM::PoisonOp::create(rewriter, where, fragment.type);
    rewriter.replaceOp(op, fragment.set(rewriter, where, empty, 0, loaded));
    return success();
  }
};

struct LowerConstant : FragmentLowering<gpu::SubgroupMmaConstantMatrixOp> {
  using FragmentLowering::FragmentLowering;

  LogicalResult matchAndRewrite(gpu::SubgroupMmaConstantMatrixOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Fragment fragment = fragment_of(op.getRes().getType());
    const Type elements = fragment.elements_of_register();
    if (elements == fragment.register_type())
      return failure(); // MLIR's does it
    const int64_t each = llvm::isa<VectorType>(elements) ? 4 : 1;
    const SmallVector<Value> all(size_t(fragment.registers() * each), adaptor.getValue());
    rewriter.replaceOp(op, fragment.pack(rewriter, op.getLoc(), all));
    return success();
  }
};

struct LowerElementwise : FragmentLowering<gpu::SubgroupMmaElementwiseOp> {
  using FragmentLowering::FragmentLowering;

  LogicalResult matchAndRewrite(gpu::SubgroupMmaElementwiseOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Kind kind = op.getOpType();
    if (kind == Kind::EXTF)
      return extend(op, adaptor.getArgs()[0].front(), rewriter);
    const Fragment fragment = fragment_of(op.getType());
    const Location where = op.getLoc();
    Value result = LLVM::PoisonOp::create(rewriter, where, fragment.type);
    for (int64_t i = 0; i < fragment.registers(); ++i) {
      SmallVector<Value> x;
      for (const ValueRange matrix : adaptor.getArgs())
        x.push_back(fragment.reg(rewriter, where, matrix.front(), i));
      const Value value = fragment.element.isFloat() ? apply_float(rewriter, where, kind, x)
                                                     : apply_integer(rewriter, where, kind, x);
      result = fragment.set(rewriter, where, result, i, value);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  LogicalResult extend(gpu::SubgroupMmaElementwiseOp op, Value matrix,
                       ConversionPatternRewriter& rewriter) const {
    const auto from = cast<gpu::MMAMatrixType>(op.getArgs()[0].getType());
    const gpu::MMAMatrixType to = op.getType();
    SmallVector<Value> elements = fragment_of(from).elements(rewriter, op.getLoc(), matrix);
    for (Value& element : elements)
      element = LLVM::FPExtOp::create(rewriter, op.getLoc(), to.getElementType(), element);
    rewriter.replaceOp(op, fragment_of(to).pack(rewriter, op.getLoc(), elements));
    return success();
  }

  static Value apply_float(OpBuilder& builder, Location where, Kind kind, ArrayRef<Value> x) {
    switch (kind) {
    case Kind::ADDF:
      return LLVM::FAddOp::create(builder, where, x[0], x[1]);
    case Kind::SUBF:
      return LLVM::FSubOp::create(builder, where, x[0], x[1]);
    case Kind::MULF:
      return LLVM::FMulOp::create(builder, where, x[0], x[1]);
    case Kind::DIVF:
      return LLVM::FDivOp::create(builder, where, x[0], x[1]);
    case Kind::MAXF: // a NaN if one of them is
      return LLVM::MaximumOp::create(builder, where, x[0], x[1]);
    case Kind::MINF:
      return LLVM::MinimumOp::create(builder, where, x[0], x[1]);
    case Kind::NEGATEF:
      return LLVM::FNegOp::create(builder, where, x[0]);
    default:
      llvm_unreachable("refused by check_elementwise()");
    }
  }

  static Value apply_integer(OpBuilder& builder, Location where, Kind kind, ArrayRef<Value> x) {
    switch (kind) {
    case Kind::ADDI:
      return LLVM::AddOp::create(builder, where, x[0], x[1]);
    case Kind::SUBI:
      return LLVM::SubOp::create(builder, where, x[0], x[1]);
    case Kind::MULI:
      return LLVM::MulOp::create(builder, where, x[0], x[1]);
    case Kind::DIVS:
      return LLVM::SDivOp::create(builder, where, x[0], x[1]);
    case Kind::DIVU:
      return LLVM::UDivOp::create(builder, where, x[0], x[1]);
    case Kind::NEGATES:
      return LLVM::SubOp::create(builder, where, LLVM::ZeroOp::create(builder, where, x[0].getType()), x[0]);
    default:
      llvm_unreachable("refused by check_elementwise()");
    }
  }
};

// The elements of a thread as one vector, so that the index need not be a constant.
VectorType vector_of(ArrayRef<Value> elements) {
  return VectorType::get({int64_t(elements.size())}, elements[0].getType());
}

Value to_vector(OpBuilder& builder, Location where, ArrayRef<Value> elements) {
  Value vector = LLVM::PoisonOp::create(builder, where, vector_of(elements));
  for (size_t i = 0; i < elements.size(); ++i)
    vector = LLVM::InsertElementOp::create(builder, where, vector, elements[i],
                                           constant(builder, where, int64_t(i)));
  return vector;
}

template <class Op>
LogicalResult check_one_index(Op op) {
  if (op.getIndices().size() == 1)
    return success();
  return op.emitOpError() << "has " << op.getIndices().size()
                          << " indices; legal: one, from 0 to the number of elements that a thread holds";
}

struct LowerExtract : FragmentLowering<gpu::SubgroupMmaExtractThreadLocalOp> {
  using FragmentLowering::FragmentLowering;

  LogicalResult matchAndRewrite(gpu::SubgroupMmaExtractThreadLocalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    if (failed(check_one_index(op)))
      return failure();
    const Location where = op.getLoc();
    const auto elements =
        fragment_of(op.getMatrix().getType()).elements(rewriter, where, adaptor.getMatrix());
    rewriter.replaceOpWithNewOp<LLVM::ExtractElementOp>(op, to_vector(rewriter, where, elements),
                                                        adaptor.getIndices()[0]);
    return success();
  }
};

struct LowerInsert : FragmentLowering<gpu::SubgroupMmaInsertThreadLocalOp> {
  using FragmentLowering::FragmentLowering;

  LogicalResult matchAndRewrite(gpu::SubgroupMmaInsertThreadLocalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    if (failed(check_one_index(op)))
      return failure();
    const Location where = op.getLoc();
    const Fragment fragment = fragment_of(op.getMatrix().getType());
    SmallVector<Value> elements = fragment.elements(rewriter, where, adaptor.getMatrix());
    const Value changed = LLVM::InsertElementOp::create(rewriter, where, to_vector(rewriter, where, elements),
                                                        adaptor.getValue(), adaptor.getIndices()[0]);
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] =
          LLVM::ExtractElementOp::create(rewriter, where, changed, constant(rewriter, where, int64_t(i)));
    rewriter.replaceOp(op, fragment.pack(rewriter, where, elements));
    return success();
  }
};

} // namespace

LogicalResult check_wmma(Operation* root) {
  const WalkResult result = root->walk([](Operation* op) {
    LogicalResult legal = success();
    if (auto load = dyn_cast<gpu::SubgroupMmaLoadMatrixOp>(op))
      legal = check_moved(op, false, cast<gpu::MMAMatrixType>(load.getRes().getType()));
    else if (auto store = dyn_cast<gpu::SubgroupMmaStoreMatrixOp>(op))
      legal = check_moved(op, true, cast<gpu::MMAMatrixType>(store.getSrc().getType()));
    else if (auto product = dyn_cast<gpu::SubgroupMmaComputeOp>(op))
      legal = check_product(product);
    else if (auto elementwise = dyn_cast<gpu::SubgroupMmaElementwiseOp>(op))
      legal = check_elementwise(elementwise);
    return failed(legal) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void populate_wmma_lowering(const LLVMTypeConverter& converter, RewritePatternSet& patterns) {
  patterns.add<LowerLoadOfOneRegister, LowerConstant, LowerElementwise, LowerExtract, LowerInsert>(converter);
}

} // namespace lemma::nvgpu

// warpgroup.* as PTX: wgmma.mma_async and its fences, and the accumulators' way to memory.
//
// Accumulators stay in the same registers all the way: an operation's fence, its wgmma instructions and its
// wait are one piece of assembly that reads and writes them, so that LLVM puts no copy or use of them in
// between. ptxas takes products one by one where it finds one ("wgmma.mma_async instructions are
// serialized").
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
// Tests: tests/mlir/lower/warpgroup_registers.mlir, tests/mlir/matrix.
#include "nvgpu/lower.h"
#include "nvgpu/warpgroup_shape.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

Value constant(OpBuilder& builder, Location where, Type type, uint64_t value) {
  return LLVM::ConstantOp::create(builder, where, type,
                                  builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

SmallVector<Value> unpack(OpBuilder& builder, Location where, Value structure) {
  SmallVector<Value> values;
  const size_t count = cast<LLVM::LLVMStructType>(structure.getType()).getBody().size();
  for (size_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, where, structure, static_cast<int64_t>(i)));
  return values;
}

Value pack(OpBuilder& builder, Location where, Type type, ValueRange values) {
  Value structure = LLVM::PoisonOp::create(builder, where, type);
  for (size_t i = 0; i < values.size(); ++i)
    structure = LLVM::InsertValueOp::create(builder, where, structure, values[i], static_cast<int64_t>(i));
  return structure;
}

struct LowerGenerateDescriptor : Lowering<WarpgroupGenerateDescriptorOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WarpgroupGenerateDescriptorOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const auto map = cast<TensorMapDescriptorType>(op.getTensorMap().getType());
    const auto tile = tile_layout_of(map, [&] { return op.emitOpError(); });
    if (failed(tile))
      return failure();
    const auto memref = cast<MemRefType>(op.getTensor().getType());
    const Type i32 = rewriter.getI32Type(), i64 = rewriter.getI64Type();
    const SmallVector<Value> origin(static_cast<size_t>(memref.getRank()), constant(rewriter, where, i64, 0));
    Value start = shared_address(rewriter, where, *getTypeConverter(), memref, adaptor.getTensor(), origin);
    // An address of shared memory may have the CTA's rank in its upper bits; the descriptor has bits 17..4.
    start = LLVM::AndOp::create(rewriter, where, start, constant(rewriter, where, i32, (1u << 18) - 1));
    start = LLVM::LShrOp::create(rewriter, where, start, constant(rewriter, where, i32, 4));
    start = LLVM::ZExtOp::create(rewriter, where, i64, start);
    rewriter.replaceOpWithNewOp<LLVM::OrOp>(
        op, start, constant(rewriter, where, i64, tile->descriptor(/*mn_major=*/false).encode()));
    return success();
  }
};

// A matrix descriptor at run time, for one operation.
class Descriptors {
public:
  Descriptors(OpBuilder& builder, Location where, Value descriptor, const SharedMatrix& matrix)
      : builder_(builder), where_(where), base_(descriptor), matrix_(matrix) {
    const layout::SmemDescriptor made = matrix.tile.descriptor(false),
                                 read = matrix.tile.descriptor(matrix.mn_major);
    if (made.leading == read.leading)
      return;
    const uint64_t start = layout::SmemDescriptor{.start = (1u << 18) - layout::kChunkBytes}.encode();
    const Type i64 = builder.getI64Type();
    base_ = LLVM::AndOp::create(builder, where, base_, constant(builder, where, i64, start));
    base_ = LLVM::OrOp::create(builder, where, base_, constant(builder, where, i64, read.encode()));
  }

  // Of the part that begins at element (`mn`, `k`).
  Value at(int64_t mn, int64_t k) const {
    const auto offset = static_cast<uint32_t>(matrix_.offset(mn, k));
    if (offset == 0)
      return base_;
    const Type i64 = builder_.getI64Type();
    return LLVM::AddOp::create(
        builder_, where_, base_,
        constant(builder_, where_, i64, layout::SmemDescriptor{.start = offset}.encode()));
  }

private:
  OpBuilder& builder_;
  Location where_;
  Value base_;
  SharedMatrix matrix_;
};

struct LowerMma : Lowering<WarpgroupMmaOp> {
  using Lowering::Lowering;

  LogicalResult matchAndRewrite(WarpgroupMmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const ErrorSink error = [&] { return op.emitOpError(); };
    const auto product = product_of(op, error);
    if (failed(product))
      return failure();
    Operands operands;
    if (failed(read_multiplicands(op, adaptor, *product, operands, rewriter)))
      return failure();
    SmallVector<Value>& d = operands.accumulators;
    for (const Value accumulator : adaptor.getMatrixC())
      d.append(unpack(rewriter, where, accumulator));

    // One block of assembly from fence to wait: LLVM then handles the registers once, not once for each
    // product.
    const size_t count = d.size();
    d.append(operands.a_registers);
    PtxCall call = ptx(rewriter, where);
    call.spelled("wgmma.fence.sync.aligned").pins(d);
    for (int64_t block = 0; block < product->blocks(); ++block)
      for (int64_t step = 0; step < product->steps(); ++step)
        multiply(call, op, *product, block, step, operands);
    auto made = call.then("wgmma.commit_group.sync.aligned")
                    .then("wgmma.wait_group.sync.aligned")
                    .text(std::to_string(pending_groups(op)))
                    .emit();
    if (failed(made))
      return failure();

    SmallVector<Value> results;
    const size_t each = count / op.getMatrixD().size();
    for (const auto [i, result] : llvm::enumerate(op.getMatrixD()))
      results.push_back(pack(rewriter, where, getTypeConverter()->convertType(result.getType()),
                             ArrayRef(*made).slice(i * each, each)));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  struct Operands {
    SmallVector<Value> accumulators; // registers of all blocks, then those of A if it has them
    SmallVector<Value> a_registers;  // or a
    std::optional<Descriptors> a, b;
    Value yes, no; // scale-d
  };

  static LogicalResult read_multiplicands(WarpgroupMmaOp op, OpAdaptor adaptor,
                                          const WarpgroupProduct& product, Operands& operands,
                                          OpBuilder& builder) {
    const Location where = op.getLoc();
    const ErrorSink error = [&] { return op.emitOpError(); };
    if (product.a_in_registers) {
      operands.a_registers =
          to_registers(builder, where, adaptor.getDescriptorA(),
                       cast<VectorType>(op.getDescriptorA().getType()), builder.getI32Type());
    } else {
      const auto matrix = shared_matrix_of(op, product, Multiplicand::a, error);
      if (failed(matrix))
        return failure();
      operands.a.emplace(builder, where, adaptor.getDescriptorA(), *matrix);
    }
    const auto matrix = shared_matrix_of(op, product, Multiplicand::b, error);
    if (failed(matrix))
      return failure();
    operands.b.emplace(builder, where, adaptor.getDescriptorB(), *matrix);
    operands.yes = constant(builder, where, builder.getI1Type(), 1);
    operands.no = constant(builder, where, builder.getI1Type(), 0);
    return success();
  }

  // One instruction: 64 rows, and as much of K as it takes. `call` has the accumulators and then A's
  // registers.
  static void multiply(PtxCall& call, WarpgroupMmaOp op, const WarpgroupProduct& product, int64_t block,
                       int64_t step, const Operands& operands) {
    const isa::MatrixRow& row = *product.row;
    const auto count = static_cast<size_t>(product.instruction.registers(0).count);
    call.then(product.instruction.spelling(), product.form_index)
        .again(static_cast<size_t>(block) * count, count);
    if (product.a_in_registers) {
      const auto a_count = static_cast<size_t>(product.instruction.registers(1).count);
      const size_t a_first = operands.accumulators.size() - operands.a_registers.size();
      call.again(a_first + static_cast<size_t>(block * product.steps() + step) * a_count, a_count);
    } else {
      call.reads(operands.a->at(block * row.shape.m, step * row.shape.k));
    }
    call.reads(operands.b->at(0, step * row.shape.k));
    call.reads(op.getScaleD() || step > 0 ? operands.yes : operands.no);
    if (row.numeric == isa::Numeric::floating)
      call.text(op.getNegateA().value_or(false) ? "-1" : "1")
          .text(op.getNegateB().value_or(false) ? "-1" : "1");
    if (row.transposes && !product.a_in_registers)
      call.text(op.getTransposeA().value_or(false) ? "1" : "0");
    if (row.transposes)
      call.text(op.getTransposeB().value_or(false) ? "1" : "0");
  }
};

// The thread's number in its warpgroup. CTAs have one, two or three dimensions.
Value thread_of_warpgroup(OpBuilder& builder, Location where) {
  const Type i32 = builder.getI32Type();
  Value thread = NVVM::ThreadIdZOp::create(builder, where, i32);
  const auto next = [&](Value extent, Value index) {
    thread = LLVM::AddOp::create(builder, where, LLVM::MulOp::create(builder, where, thread, extent), index);
  };
  next(NVVM::BlockDimYOp::create(builder, where, i32), NVVM::ThreadIdYOp::create(builder, where, i32));
  next(NVVM::BlockDimXOp::create(builder, where, i32), NVVM::ThreadIdXOp::create(builder, where, i32));
  return LLVM::URemOp::create(builder, where, thread, constant(builder, where, i32, kWarpgroupThreads));
}

// Row and column of the element that lane `lane` has in its first register.
std::pair<Value, Value> first_element(OpBuilder& builder, Location where, const layout::Fragment& fragment,
                                      Value lane) {
  const Type i32 = builder.getI32Type();
  Value row = constant(builder, where, i32, 0), column = row;
  int below = 1;
  for (const layout::Mode& mode : fragment.lane) {
    if (mode.size == 1)
      continue;
    Value step = LLVM::UDivOp::create(builder, where, lane,
                                      constant(builder, where, i32, static_cast<uint64_t>(below)));
    step = LLVM::URemOp::create(builder, where, step,
                                constant(builder, where, i32, static_cast<uint64_t>(mode.size)));
    const auto add = [&](Value& sum, int stride) {
      if (stride != 0)
        sum = LLVM::AddOp::create(
            builder, where, sum,
            LLVM::MulOp::create(builder, where, step,
                                constant(builder, where, i32, static_cast<uint64_t>(stride))));
    };
    add(row, mode.stride.row);
    add(column, mode.stride.col);
    below *= mode.size;
  }
  return {row, column};
}

// Where a thread's elements go: some rows and columns from its first one. With strides that are known that is
// a constant from one pointer, which spares LLVM from finding out that no two stores overlap.
class Places {
public:
  Places(ConversionPatternRewriter& rewriter, WarpgroupMmaStoreOp op, Value converted,
         const LLVMTypeConverter& converter, Value row, Value column)
      : rewriter_(rewriter), where_(op.getLoc()), memref_(cast<MemRefType>(op.getDstMemref().getType())),
        converted_(converted), converter_(converter), row_(row), column_(column),
        first_(element_pointer(rewriter, where_, converter, memref_, converted, {row, column})) {
    int64_t offset = 0;
    is_static_ = succeeded(memref_.getStridesAndOffset(strides_, offset)) &&
                 llvm::none_of(strides_, ShapedType::isDynamic);
  }

  Value at(int64_t rows, int64_t columns) const {
    const int64_t elems = is_static_ ? rows * strides_[0] + columns * strides_[1] : 0;
    if (is_static_ && llvm::isInt<32>(elems))
      return LLVM::GEPOp::create(rewriter_, where_, first_.getType(),
                                 converter_.convertType(memref_.getElementType()), first_,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(elems)});
    return element_pointer(rewriter_, where_, converter_, memref_, converted_,
                           {plus(row_, rows), plus(column_, columns)});
  }

private:
  Value plus(Value index, int64_t step) const {
    return step == 0 ? index
                     : LLVM::AddOp::create(
                           rewriter_, where_, index,
                           constant(rewriter_, where_, rewriter_.getI64Type(), static_cast<uint64_t>(step)));
  }

  ConversionPatternRewriter& rewriter_;
  Location where_;
  MemRefType memref_;
  Value converted_;
  const LLVMTypeConverter& converter_;
  Value row_, column_, first_;
  SmallVector<int64_t> strides_;
  bool is_static_ = false;
};

// At most `groups` groups of products are pending afterwards; the registers as they are then.
FailureOr<SmallVector<Value>> wait(PtxCall call, int64_t groups, ValueRange registers) {
  return call.spelled("wgmma.wait_group.sync.aligned").text(std::to_string(groups)).pins(registers).emit();
}

struct LowerWait : Lowering<WarpgroupMmaWaitOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WarpgroupMmaWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const auto registers =
        wait(ptx(rewriter, where), pending_groups(op), unpack(rewriter, where, adaptor.getAccumulator()));
    if (failed(registers))
      return failure();
    rewriter.replaceOp(op, pack(rewriter, where, adaptor.getAccumulator().getType(), *registers));
    return success();
  }
};

struct LowerExtract : Lowering<WarpgroupMmaExtractOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WarpgroupMmaExtractOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const VectorType matrix = cast<WarpgroupAccumulatorType>(op.getMatrixD().getType()).getFragmented();
    const auto type = cast<VectorType>(op.getRegisters().getType());
    // For each 64 rows, all columns: two registers of one element, or one of two, for each row of the vector.
    const int64_t per_row = matrix.getElementType().isF16() ? 1 : 2;
    const int64_t first = (op.getRow() / 64 * matrix.getDimSize(1) + op.getColumn()) / 4 * per_row;
    SmallVector<Value> registers;
    for (int64_t i = first; i < first + type.getDimSize(0) * per_row; ++i)
      registers.push_back(LLVM::ExtractValueOp::create(rewriter, where, adaptor.getMatrixD(), i));
    rewriter.replaceOp(
        op, from_registers(rewriter, where, registers, type, getTypeConverter()->convertType(type)));
    return success();
  }
};

struct LowerStore : Lowering<WarpgroupMmaStoreOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WarpgroupMmaStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter& rewriter) const override {
    const Location where = op.getLoc();
    const VectorType matrix = cast<WarpgroupAccumulatorType>(op.getMatrixD().getType()).getFragmented();
    const Type element = matrix.getElementType(), i64 = rewriter.getI64Type();
    const auto fragment =
        layout::wgmma_fragment(layout::Matrix::d, {64, static_cast<int>(matrix.getDimSize(1)), 0},
                               static_cast<int>(storage_bits(element)));
    SmallVector<Value> registers = unpack(rewriter, where, adaptor.getMatrixD());
    if (may_be_pending(op.getMatrixD())) {
      auto complete = wait(ptx(rewriter, where), 0, registers);
      if (failed(complete))
        return failure();
      registers = *complete;
    }

    auto [row, column] = first_element(rewriter, where, fragment, thread_of_warpgroup(rewriter, where));
    row = LLVM::ZExtOp::create(rewriter, where, i64, row);
    column = LLVM::ZExtOp::create(rewriter, where, i64, column);
    const int per_block = fragment.registers(), per_register = fragment.elems_per_register();
    const Places places(rewriter, op, adaptor.getDstMemref(), *getTypeConverter(), row, column);
    for (const auto [i, packed] : llvm::enumerate(registers)) {
      const int64_t block = static_cast<int64_t>(i) / per_block;
      const int reg = static_cast<int>(i) % per_block;
      for (int elem = 0; elem < per_register; ++elem) {
        const layout::Coord at = fragment.at({.lane = 0, .reg = reg, .elem = elem});
        LLVM::StoreOp::create(rewriter, where,
                              element_of(rewriter, where, packed, element, per_register, elem),
                              places.at(block * fragment.rows + at.row, at.col));
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value element_of(OpBuilder& builder, Location where, Value packed, Type element, int per_register,
                          int index) {
    if (per_register == 1)
      return packed;
    const Value elements =
        LLVM::BitcastOp::create(builder, where, VectorType::get({per_register}, element), packed);
    return LLVM::ExtractElementOp::create(
        builder, where, elements,
        constant(builder, where, builder.getI32Type(), static_cast<uint64_t>(index)));
  }
};

struct LowerInitAccumulator : Lowering<WarpgroupMmaInitAccumulatorOp> {
  using Lowering::Lowering;
  LogicalResult matchAndRewrite(WarpgroupMmaInitAccumulatorOp op, OpAdaptor,
                                ConversionPatternRewriter& rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ZeroOp>(op, getTypeConverter()->convertType(op.getMatrixC().getType()));
    return success();
  }
};

} // namespace

void populate_warpgroup_lowering(const LLVMTypeConverter& converter, PtxTarget& target,
                                 RewritePatternSet& patterns) {
  patterns.add<LowerGenerateDescriptor, LowerMma, LowerWait, LowerExtract, LowerStore, LowerInitAccumulator>(
      converter, target);
}

} // namespace lemma::nvgpu

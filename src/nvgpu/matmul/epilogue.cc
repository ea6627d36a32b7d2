// Finding a generic that can follow a product in its kernel, and its body as a function of eight elements.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// Whether what `c` has in the end is for nobody but `reader`: local memory, which only the product and it
// use.
bool is_read_by(Value c, Operation* product, Operation* reader) {
  Operation* made = c.getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, gpu::AllocOp>(made))
    return false;
  return llvm::all_of(c.getUsers(), [&](Operation* user) {
    return user == product || user == reader ||
           llvm::isa<linalg::FillOp, memref::DeallocOp, gpu::DeallocOp>(user);
  });
}

bool is_inside(Value value, linalg::GenericOp op) {
  return value.getParentBlock() == op.getBody();
}

bool is_constant(Value value) {
  Operation* made = value.getDefiningOp();
  return made && made->hasTrait<OpTrait::ConstantLike>();
}

bool is_elementwise(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || op.getNumLoops() != 2 ||
      op.getNumReductionLoops() != 0)
    return false;
  for (const AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
  if (!is_inside(op.getBody()->getTerminator()->getOperand(0), op))
    return false;
  // Operations of numbers alone: of elements, and constants.
  return llvm::all_of(op.getBody()->without_terminator(), [&](Operation& inner) {
    return inner.getNumRegions() == 0 && (isMemoryEffectFree(&inner) || llvm::isa<linalg::IndexOp>(inner)) &&
           llvm::all_of(inner.getOperands(),
                        [&](Value operand) { return is_inside(operand, op) || is_constant(operand); });
  });
}

// One element: the generic's body.
Value apply(OpBuilder& builder, Location where, Epilogue& epilogue, Value element, Value row, Value column,
            ValueRange operands) {
  linalg::GenericOp op = epilogue.op;
  const Value places[2] = {row, column};
  IRMapping mapping;
  size_t next = 0;
  for (OpOperand& operand : op->getOpOperands()) {
    const BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (operand.getOperandNumber() == epilogue.product) {
      mapping.map(argument, element);
      continue;
    }
    if (argument.use_empty())
      continue;
    const Value memref = operands[next++];
    SmallVector<Value> indices;
    for (const auto& [i, result] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      if (const auto dimension = dyn_cast<AffineDimExpr>(result)) {
        // Of elements that the matrix has not got the place is one that it has; nobody uses what comes of
        // them.
        const Value extent = memref::DimOp::create(builder, where, memref, static_cast<int64_t>(i));
        const Value one = arith::ConstantIndexOp::create(builder, where, 1);
        const Value last = arith::SubIOp::create(builder, where, extent, one);
        indices.push_back(arith::MinUIOp::create(builder, where, places[dimension.getPosition()], last));
      } else {
        indices.push_back(arith::ConstantIndexOp::create(builder, where, 0));
      }
    }
    mapping.map(argument, memref::LoadOp::create(builder, where, memref, indices).getResult());
  }
  for (Operation& inner : op.getBody()->without_terminator()) {
    for (const Value operand : inner.getOperands())
      if (!is_inside(operand, op) && !mapping.contains(operand))
        mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), places[index.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return mapping.lookup(op.getBody()->getTerminator()->getOperand(0));
}

} // namespace

std::optional<Epilogue> epilogue_after(Operation* product, Value c) {
  Operation* after = product->getNextNode();
  while (after && isMemoryEffectFree(after))
    after = after->getNextNode();
  auto op = dyn_cast_or_null<linalg::GenericOp>(after);
  if (!op || !is_elementwise(op))
    return std::nullopt;
  Epilogue epilogue{.op = op, .product = 0, .result = op.getDpsInits()[0]};
  unsigned uses = 0;
  for (OpOperand& operand : op->getOpOperands()) {
    const bool is_init = op.isDpsInit(&operand), is_used = !op.getMatchingBlockArgument(&operand).use_empty();
    if ((operand.get() == c || is_init) && !op.getMatchingIndexingMap(&operand).isIdentity())
      return std::nullopt;
    if (operand.get() == c && is_used) {
      epilogue.product = operand.getOperandNumber();
      ++uses;
    } else if (is_used) {
      const auto type = cast<MemRefType>(operand.get().getType());
      if (operand.get() == epilogue.result || !type.hasStaticShape() || !type.getLayout().isIdentity())
        return std::nullopt;
      epilogue.operands.push_back(operand.get());
    }
  }
  if (uses != 1 || (epilogue.result != c && !is_read_by(c, product, op)))
    return std::nullopt;
  return epilogue;
}

func::FuncOp make_epilogue(OpBuilder& builder, const std::string& name, Epilogue epilogue, Type sum,
                           Type element, TypeRange operands) {
  const Location where = epilogue.op.getLoc();
  const OpBuilder::InsertionGuard guard(builder);
  const auto from = VectorType::get({4, 2}, sum);
  const Type result = cast<MemRefType>(epilogue.result.getType()).getElementType();
  const auto to = VectorType::get({4, 2}, result);
  SmallVector<Type> inputs{from, builder.getIndexType(), builder.getIndexType()};
  inputs.append(operands.begin(), operands.end());
  auto function = func::FuncOp::create(builder, where, name, builder.getFunctionType(inputs, to));
  function.setPrivate();
  Block* body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Value made = arith::ConstantOp::create(builder, where, builder.getZeroAttr(to));
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 2; ++j) {
      const Value down = arith::ConstantIndexOp::create(builder, where, i % 2 * 8);
      const Value right = arith::ConstantIndexOp::create(builder, where, i / 2 * 8 + j);
      const Value row = arith::AddIOp::create(builder, where, body->getArgument(1), down);
      const Value column = arith::AddIOp::create(builder, where, body->getArgument(2), right);
      Value value = vector::ExtractOp::create(builder, where, body->getArgument(0), ArrayRef<int64_t>{i, j});
      if (element != sum)
        value = arith::TruncFOp::create(builder, where, element, value);
      value = apply(builder, where, epilogue, value, row, column, body->getArguments().drop_front(3));
      made = vector::InsertOp::create(builder, where, value, made, ArrayRef<int64_t>{i, j});
    }
  func::ReturnOp::create(builder, where, made);
  return function;
}

} // namespace lemma::nvgpu

// Finding what can follow a product in its kernel, and its bodies as a function of eight elements.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

using Members = llvm::SmallPtrSet<Operation*, 8>;

// Whether what `memref` has in the end is for the members alone.
bool is_for(Value memref, const Members& members) {
  return is_local(memref) && llvm::all_of(memref.getUsers(), [&](Operation* user) {
           return members.contains(user) ||
                  llvm::isa<linalg::FillOp, memref::DeallocOp, gpu::DeallocOp, memref::DimOp>(user);
         });
}

bool is_inside(Value value, linalg::GenericOp op) {
  return value.getParentBlock() == op.getBody();
}

bool is_constant(Value value) {
  Operation* made = value.getDefiningOp();
  return made && made->hasTrait<OpTrait::ConstantLike>();
}

// Whether kernels store elements of the type: of one to eight whole bytes. i1 and narrower ones stay a loop
// of the host.
bool is_stored(Type element) {
  return element.isIntOrFloat() && llvm::is_contained({8, 16, 32, 64}, element.getIntOrFloatBitWidth());
}

// Whether the body can be computed of elements, numbers, and the place in the matrix.
bool is_elementwise(linalg::GenericOp op, unsigned rank) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || op.getNumLoops() != rank ||
      op.getNumReductionLoops() != 0 || !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return false;
  for (const AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
  if (!is_inside(op.getBody()->getTerminator()->getOperand(0), op))
    return false;
  return llvm::all_of(op.getBody()->without_terminator(), [&](Operation& inner) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    return inner.getNumRegions() == 0 && (isMemoryEffectFree(&inner) || index) &&
           (!index || index.getDim() + 2 >= rank) && // not the batch's
           llvm::all_of(inner.getOperands(), [&](Value operand) {
             return is_inside(operand, op) || is_constant(operand) || operand.getType().isIntOrIndexOrFloat();
           });
  });
}

// An elementwise operation with a name as a generic; null: it is none.
linalg::GenericOp generic_of(Operation* op) {
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return generic;
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    auto generic = linalg::makeMemRefCopyOp(rewriter, op->getLoc(), copy.getSource(), copy.getTarget());
    rewriter.eraseOp(op);
    return generic;
  }
  auto named = dyn_cast<linalg::LinalgOp>(op);
  if (!named || llvm::isa<linalg::FillOp>(op) || !named.hasPureBufferSemantics() ||
      !linalg::isElementwise(named))
    return {};
  const auto generic = linalg::generalizeNamedOp(rewriter, named);
  return succeeded(generic) ? *generic : linalg::GenericOp();
}

// The next operation that does something with memory which lives on.
Operation* next_after(Operation* op, const Members& finished) {
  for (Operation* next = op->getNextNode(); next; next = next->getNextNode()) {
    if (isMemoryEffectFree(next) || is_allocation(next))
      continue;
    // Of what lies between the chain's operations, and will not be used.
    if (const Value freed = freed_by(next); freed && llvm::all_of(freed.getUsers(), [&](Operation* user) {
                                              return user == next || finished.contains(user) ||
                                                     llvm::isa<linalg::FillOp, memref::DimOp>(user);
                                            }))
      continue;
    return next;
  }
  return nullptr;
}

// What the operation reads besides `from`; none if it is not one that can be part of the chain.
std::optional<SmallVector<EpilogueOperand>> operands_of(linalg::GenericOp op, Value from, bool is_batch) {
  SmallVector<EpilogueOperand> operands;
  bool reads_from = false;
  for (OpOperand& operand : op->getOpOperands()) {
    if (op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    const AffineMap map = op.getMatchingIndexingMap(&operand);
    if (operand.get() == from) {
      if (!map.isIdentity())
        return std::nullopt;
      reads_from = true;
      continue;
    }
    EpilogueOperand& made = operands.emplace_back(EpilogueOperand{operand.get()});
    if (!llvm::isa<MemRefType>(operand.get().getType()))
      continue;
    if (is_batch)
      for (const auto& [i, expression] : llvm::enumerate(map.getResults()))
        if (expression == getAffineDimExpr(0, op.getContext()))
          made.batch_dim = static_cast<unsigned>(i);
  }
  if (!reads_from)
    return std::nullopt;
  // Numbers from outside, in the order of their uses.
  for (Operation& inner : op.getBody()->without_terminator())
    for (const Value operand : inner.getOperands())
      if (!is_inside(operand, op) && !is_constant(operand))
        operands.push_back({operand});
  return operands;
}

// Operands of the epilogue's function, one after the other.
class Arguments {
public:
  explicit Arguments(ValueRange values) : values_(values) {}
  Value take() { return values_[next_++]; }

private:
  ValueRange values_;
  size_t next_ = 0;
};

// The element of `memref` that the map names. `places`: the dimensions' values, null for the batch's.
Value load(OpBuilder& builder, Location where, Value memref, AffineMap map, ArrayRef<Value> places) {
  SmallVector<Value> indices;
  for (const AffineExpr result : map.getResults()) {
    const auto dimension = dyn_cast<AffineDimExpr>(result);
    if (dimension && !places[dimension.getPosition()])
      continue;
    if (!dimension) {
      indices.push_back(arith::ConstantIndexOp::create(builder, where, 0));
      continue;
    }
    // Of elements that the matrix has not got the place is one that it has; nobody uses what comes of them.
    const Value extent = memref::DimOp::create(builder, where, memref, static_cast<int64_t>(indices.size()));
    const Value one = arith::ConstantIndexOp::create(builder, where, 1);
    const Value last = arith::SubIOp::create(builder, where, extent, one);
    indices.push_back(arith::MinUIOp::create(builder, where, places[dimension.getPosition()], last));
  }
  return memref::LoadOp::create(builder, where, memref, indices);
}

// A place in the source, which debug information of kernels needs: bodies of operations that have names, and
// of fused ones, have none.
Location place_of(Operation* inner, Operation* op) {
  for (const Location where : {inner->getLoc(), op->getLoc()})
    if (const auto place = where->findInstanceOf<FileLineColLoc>())
      return place;
  return op->getLoc();
}

Value clone_constant(OpBuilder& builder, Value constant, Operation* op) {
  Operation* made = builder.clone(*constant.getDefiningOp());
  made->setLoc(place_of(made, op));
  return made->getResult(0);
}

// One element: the body of one of the chain.
Value apply(OpBuilder& builder, Location where, const Elementwise& step, Value element,
            ArrayRef<Value> places, Arguments& arguments) {
  linalg::GenericOp op = step.op;
  IRMapping mapping;
  for (OpOperand& operand : op->getOpOperands()) {
    const BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (operand.get() == step.from) {
      mapping.map(argument, element);
      continue;
    }
    const Value value = arguments.take();
    mapping.map(argument, llvm::isa<MemRefType>(value.getType())
                              ? load(builder, where, value, op.getMatchingIndexingMap(&operand), places)
                              : value);
  }
  for (Operation& inner : op.getBody()->without_terminator()) {
    for (const Value operand : inner.getOperands()) {
      if (is_inside(operand, op))
        continue;
      if (!is_constant(operand))
        mapping.map(operand, arguments.take());
      else if (!mapping.contains(operand))
        mapping.map(operand, clone_constant(builder, operand, op));
    }
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), places[index.getDim()]);
    else
      builder.clone(inner, mapping)->setLoc(place_of(&inner, op));
  }
  return mapping.lookup(op.getBody()->getTerminator()->getOperand(0));
}

} // namespace

std::optional<Epilogue> epilogue_after(const Product& product) {
  if (!product.fill)
    return std::nullopt;
  Epilogue epilogue{.chain = {}, .result = product.c};
  Members writers{product.op}, finished{product.op};
  Operation* last = product.op;
  while (Operation* next = next_after(last, finished)) {
    if (next->getBlock() != product.op->getBlock() ||
        !llvm::is_contained(next->getOperands(), epilogue.result))
      break;
    linalg::GenericOp op = generic_of(next);
    if (!op || !is_elementwise(op, product.is_batch ? 3 : 2))
      break;
    const Value result = op.getDpsInits()[0];
    if (!is_stored(type_of(result).getElementType()))
      break;
    const auto operands = operands_of(op, epilogue.result, product.is_batch);
    if (!operands)
      break;
    // Tiles of the result are there before all is read that others need.
    const auto is_overwritten = [&](Value read) {
      return llvm::isa<MemRefType>(read.getType()) && root_of(read) == root_of(result);
    };
    if (is_overwritten(product.a) || is_overwritten(product.b) ||
        llvm::any_of(llvm::concat<const EpilogueOperand>(epilogue.operands, *operands),
                     [&](const EpilogueOperand& operand) { return is_overwritten(operand.value); }))
      break;
    writers.insert(op);
    if (result != epilogue.result && !is_for(epilogue.result, writers))
      break;
    if (result != epilogue.result)
      writers = {op.getOperation()};
    finished.insert(op);
    epilogue.chain.push_back({.op = op, .from = epilogue.result});
    epilogue.operands.append(*operands);
    epilogue.result = result;
    last = op;
  }
  return epilogue.chain.empty() ? std::nullopt : std::optional(epilogue);
}

func::FuncOp make_epilogue(OpBuilder& builder, const std::string& name, const Epilogue& epilogue, Type sum,
                           Type element, TypeRange operands) {
  Operation* first = epilogue.chain.front().op;
  const Location where = place_of(first, first);
  const OpBuilder::InsertionGuard guard(builder);
  const auto from = VectorType::get({4, 2}, sum);
  const auto to = VectorType::get({4, 2}, type_of(epilogue.result).getElementType());
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
      SmallVector<Value> places;
      if (type_of(epilogue.result).getRank() == 3)
        places.push_back({});
      places.push_back(arith::AddIOp::create(builder, where, body->getArgument(1), down));
      places.push_back(arith::AddIOp::create(builder, where, body->getArgument(2), right));
      Value value = vector::ExtractOp::create(builder, where, body->getArgument(0), ArrayRef<int64_t>{i, j});
      if (element != sum)
        value = arith::TruncFOp::create(builder, where, element, value);
      Arguments arguments(body->getArguments().drop_front(3));
      for (const Elementwise& step : epilogue.chain)
        value = apply(builder, where, step, value, places, arguments);
      made = vector::InsertOp::create(builder, where, value, made, ArrayRef<int64_t>{i, j});
    }
  func::ReturnOp::create(builder, where, made);
  return function;
}

} // namespace lemma::nvgpu

// Checks of sizes, as cf.assert.
//
// Tests: tests/mlir/matmul/sizes.mlir.
#include "nvgpu/matmul/size_checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <fmt/format.h>

#include <map>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// One of an operand's extents.
struct Extent {
  unsigned operand = 0;
  int64_t dimension = 0;
  int64_t size = ShapedType::kDynamic; // where it is known
  Value value = {};                    // what memory was allocated with, where it was in this function
};

// "dimension 1 of operand 0"
std::string text_of(const Extent& extent) {
  return fmt::format("dimension {} of operand {}", extent.dimension, extent.operand);
}

// Of memory that was allocated with it, the size of a dynamic dimension.
Value allocated_size(Value memref, unsigned dimension) {
  const auto of = [&](auto allocation) -> Value {
    const auto type = cast<MemRefType>(memref.getType());
    return allocation.getDynamicSizes()[type.getDynamicDimIndex(dimension)];
  };
  if (auto allocation = memref.getDefiningOp<memref::AllocOp>())
    return of(allocation);
  if (auto allocation = memref.getDefiningOp<gpu::AllocOp>())
    return of(allocation);
  return {};
}

// What an extent is, whoever asks: a memref's dimension or, by itself, a value.
std::pair<Value, int64_t> origin(Value memref, int64_t dimension, Value size) {
  if (!size)
    return {memref, dimension};
  if (auto dim = size.getDefiningOp<memref::DimOp>())
    if (const auto index = dim.getConstantIndex())
      return {dim.getSource(), *index};
  return {size, -1};
}

} // namespace

void check_sizes_at_run(linalg::LinalgOp op, Operation* place) {
  if (!op.hasPureBufferSemantics())
    return;
  std::map<unsigned, SmallVector<Extent>> extents; // by the operation's dimension
  for (OpOperand& operand : op->getOpOperands()) {
    const auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    for (const auto& [i, result] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      const auto dimension = dyn_cast<AffineDimExpr>(result);
      if (!dimension)
        continue;
      const auto at = static_cast<unsigned>(i);
      extents[dimension.getPosition()].push_back(
          {.operand = operand.getOperandNumber(),
           .dimension = at,
           .size = type.getDimSize(at),
           .value = type.isDynamicDim(at) ? allocated_size(operand.get(), at) : Value()});
    }
  }
  OpBuilder builder(place);
  const Location where = op.getLoc();
  const auto value = [&](const Extent& extent) -> Value {
    if (extent.value)
      return extent.value;
    return memref::DimOp::create(builder, where, op->getOperand(extent.operand), extent.dimension);
  };
  const auto is_known = [](const Extent& extent) { return !ShapedType::isDynamic(extent.size); };
  const auto is_same = [&](const Extent& left, const Extent& right) {
    if (is_known(left) && is_known(right))
      return true;
    return origin(op->getOperand(left.operand), left.dimension, left.value) ==
           origin(op->getOperand(right.operand), right.dimension, right.value);
  };
  for (const auto& [dimension, all] : extents) {
    // All with one, which is known if any is.
    const auto* known = llvm::find_if(all, is_known);
    const Extent& first = known == all.end() ? all.front() : *known;
    for (const Extent& other : all) {
      if (is_same(first, other))
        continue;
      const Value same =
          arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, value(first), value(other));
      cf::AssertOp::create(builder, where, same,
                           fmt::format("{}: {} and {} have different extents, and must have the same",
                                       op->getName().getStringRef().str(), text_of(first), text_of(other)));
    }
  }
}

} // namespace lemma::nvgpu

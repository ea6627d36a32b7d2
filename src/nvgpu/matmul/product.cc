// Finding products and the fill before them.
//
// Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/product.h"

#include "nvgpu/compile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include <fmt/format.h>

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// On a product of f32: it may be multiplied as tf32, as nvgpu.mma.sync says it.
constexpr const char* kTf32Attr = "nvgpu.tf32Enabled";

// Whether the operation, or one inside it, has the memref as operand.
bool uses(Operation* op, Value memref) {
  return op
      ->walk([&](Operation* inner) {
        return llvm::is_contained(inner->getOperands(), memref) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
      })
      .wasInterrupted();
}

// The fill with zero that the product adds to, if nothing between them can see the memory.
linalg::FillOp fill_before(Operation* product, Value c) {
  for (Operation* before = product->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before)) {
      if (fill.getDpsInits()[0] != c)
        continue;
      const Value value = fill.getDpsInputs()[0];
      return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()) ? fill : linalg::FillOp();
    }
    if (isMemoryEffectFree(before) || is_allocation(before))
      continue;
    if (!is_local(c) || uses(before, c))
      return {};
  }
  return {};
}

// Whether `map` of a product's dimensions takes these two last, in that order; before them the batch's, or,
// if `may_lack` it, nothing.
bool takes(AffineMap map, bool is_batch, bool may_lack, unsigned first, unsigned second) {
  const auto is = [&](unsigned at, unsigned dimension) {
    return map.getResult(at) == getAffineDimExpr(dimension, map.getContext());
  };
  const unsigned results = map.getNumResults();
  if (is_batch && results == 3)
    return is(0, 0) && is(1, first + 1) && is(2, second + 1);
  return results == 2 && (!is_batch || may_lack) && is(0, first + is_batch) && is(1, second + is_batch);
}

template <class Op>
std::optional<MatmulFamily> kernel_of(Op op, const MatmulTarget& target) {
  const auto element = [](Value memref) { return type_of(memref).getElementType(); };
  const ProductTypes types{.a = element(op.getDpsInputs()[0]),
                           .b = element(op.getDpsInputs()[1]),
                           .c = element(op.getDpsInits()[0]),
                           .is_unsigned = op.getCast() == linalg::TypeFn::cast_unsigned,
                           .allows_tf32 = target.allow_tf32 || op->hasAttr(kTf32Attr)};
  if (target.schedule && takes(target.schedule->family, target.machine, types))
    return target.schedule->family;
  return kernel_for(target.machine, types);
}

// Strided, and not known to be empty, which loops of the host do best.
bool is_taken(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  return succeeded(type_of(memref).getStridesAndOffset(strides, offset)) &&
         !llvm::is_contained(type_of(memref).getShape(), 0);
}

template <class Op>
std::optional<Product> product_of(Op op, bool is_batch, const MatmulTarget& target) {
  if (!op.hasPureBufferSemantics())
    return std::nullopt;
  Product product{.op = op,
                  .a = op.getDpsInputs()[0],
                  .b = op.getDpsInputs()[1],
                  .c = op.getDpsInits()[0],
                  .is_batch = is_batch};
  const SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  constexpr unsigned m = 0, n = 1, k = 2;
  product.a_transposed = takes(maps[0], is_batch, true, k, m);
  product.b_transposed = takes(maps[1], is_batch, true, n, k);
  if ((!product.a_transposed && !takes(maps[0], is_batch, true, m, k)) ||
      (!product.b_transposed && !takes(maps[1], is_batch, true, k, n)) ||
      !takes(maps[2], is_batch, false, m, n) || !llvm::all_of(op->getOperands(), is_taken))
    return std::nullopt;
  const auto family = kernel_of(op, target);
  if (!family)
    return std::nullopt;
  product.family = *family;
  product.is_unsigned = op.getCast() == linalg::TypeFn::cast_unsigned;
  product.fill = fill_before(op, product.c);
  return product;
}

} // namespace

bool multiplies_as_tf32(const Product& product, bool allowed) {
  return type_of(product.a).getElementType().isF32() &&
         (allowed || linalg::LinalgOp(product.op)->hasAttr(kTf32Attr));
}

MemRefType type_of(Value memref) {
  return cast<MemRefType>(memref.getType());
}

Value root_of(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

bool is_device_memory(Value memref) {
  if (root_of(memref).getDefiningOp<gpu::AllocOp>())
    return true;
  return is_device_space(type_of(memref).getMemorySpace());
}

bool is_allocation(Operation* op) {
  auto on_device = dyn_cast_or_null<gpu::AllocOp>(op);
  return isa_and_nonnull<memref::AllocOp>(op) ||
         (on_device && !on_device.getAsyncToken() && on_device.getAsyncDependencies().empty());
}

Value freed_by(Operation* op) {
  if (auto free = dyn_cast<memref::DeallocOp>(op))
    return free.getMemref();
  auto free = dyn_cast<gpu::DeallocOp>(op);
  return free && !free.getAsyncToken() && free.getAsyncDependencies().empty() ? free.getMemref() : Value();
}

bool is_local(Value memref) {
  return is_allocation(memref.getDefiningOp()) && llvm::all_of(memref.getUsers(), [](Operation* user) {
           return llvm::isa<linalg::LinalgOp, memref::DeallocOp, gpu::DeallocOp, memref::CopyOp,
                            gpu::MemcpyOp, memref::LoadOp, memref::StoreOp, memref::DimOp>(user);
         });
}

std::string why_none(Operation* op, const MatmulTarget& target) {
  auto contraction = dyn_cast<linalg::LinalgOp>(op);
  if (!contraction || !contraction.hasPureBufferSemantics() || contraction.getNumParallelLoops() < 2 ||
      !linalg::isaContractionOpInterface(contraction) || product_of(op, target))
    return {};
  if (!llvm::isa<linalg::MatmulOp, linalg::BatchMatmulOp>(op))
    return "kernels are made of linalg.matmul and linalg.batch_matmul";
  const auto shaped = [](Value memref) { return !llvm::is_contained(type_of(memref).getShape(), 0); };
  if (!llvm::all_of(op->getOperands(), shaped))
    return {};
  const auto text = [&](unsigned operand) {
    std::string text;
    llvm::raw_string_ostream(text) << type_of(op->getOperand(operand)).getElementType();
    return text;
  };
  const bool has_kernel = llvm::isa<linalg::MatmulOp>(op)
                              ? kernel_of(cast<linalg::MatmulOp>(op), target).has_value()
                              : kernel_of(cast<linalg::BatchMatmulOp>(op), target).has_value();
  if (!has_kernel)
    return fmt::format("none for {} multiplies {} and {} to {}", isa::to_string(target.machine), text(0),
                       text(1), text(2));
  return "kernels take matrices whose elements lie in rows or in columns, in the orders of docs/matmul.md";
}

std::optional<Product> product_of(Operation* op, const MatmulTarget& target) {
  if (auto matmul = dyn_cast<linalg::MatmulOp>(op))
    return product_of(matmul, false, target);
  if (auto matmul = dyn_cast<linalg::BatchMatmulOp>(op))
    return product_of(matmul, true, target);
  return std::nullopt;
}

} // namespace lemma::nvgpu

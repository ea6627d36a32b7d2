// Allocations of the host that become the device's.
//
// Tests: tests/mlir/matmul/resident.mlir.
#include "nvgpu/matmul/resident.h"

#include "nvgpu/matmul/epilogue.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

namespace lemma::nvgpu {

using namespace mlir;

void keep_on_device(ArrayRef<Product> products) {
  llvm::SmallPtrSet<Operation*, 16> replaced; // by calls
  llvm::SetVector<Operation*> allocations;
  const auto look_at = [&](Operation* op) {
    replaced.insert(op);
    for (const Value operand : op->getOperands())
      if (auto allocation = operand.getDefiningOp<memref::AllocOp>())
        allocations.insert(allocation);
  };
  for (const Product& product : products) {
    look_at(product.op);
    if (product.fill)
      replaced.insert(product.fill);
    if (const auto epilogue = epilogue_after(product))
      for (const Elementwise& step : epilogue->chain)
        look_at(step.op);
  }
  for (Operation* op : allocations) {
    auto allocation = cast<memref::AllocOp>(op);
    SmallVector<memref::DeallocOp> frees;
    const bool is_theirs = llvm::all_of(op->getUsers(), [&](Operation* user) {
      if (auto free = dyn_cast<memref::DeallocOp>(user))
        frees.push_back(free);
      return replaced.contains(user) || llvm::isa<memref::DeallocOp, memref::DimOp>(user);
    });
    if (!is_theirs || frees.empty() || !allocation.getSymbolOperands().empty())
      continue;
    OpBuilder builder(op);
    const Value there = gpu::AllocOp::create(builder, op->getLoc(), allocation.getType(), Type(),
                                             ValueRange(), allocation.getDynamicSizes(), ValueRange())
                            .getMemref();
    allocation.replaceAllUsesWith(there);
    op->erase();
    for (memref::DeallocOp free : frees) {
      builder.setInsertionPoint(free);
      gpu::DeallocOp::create(builder, free.getLoc(), TypeRange(), there);
      free.erase();
    }
  }
}

} // namespace lemma::nvgpu

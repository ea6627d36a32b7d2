// Host code on tensors becomes host code on memrefs, by MLIR's one-shot bufferization.
//
//   func.func @main(%a: tensor<?x64xf16>, ...) -> tensor<?x32xf32>
//   func.func @main(%a: memref<?x64xf16>, ..., %result: memref<?x32xf32>)
//
// Arguments of a function that others call keep what they have: who is written to is a copy. Its results are
// memrefs that the caller gives, after the arguments, in their order. Elementwise operations are fused where
// one uses what the other makes alone.
//
// Not here: programs with kernels of their own, whose host code has memrefs. Tests:
// tests/mlir/matmul/results.mlir, mlir.matmul.tensors (matmul.py).
#include "nvgpu/passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

bool has_tensors(func::FuncOp function) {
  const auto is_tensor = [](Type type) { return llvm::isa<mlir::TensorType>(type); };
  const FunctionType type = function.getFunctionType();
  return llvm::any_of(type.getInputs(), is_tensor) || llvm::any_of(type.getResults(), is_tensor) ||
         function
             .walk([&](Operation* op) {
               return llvm::any_of(op->getResultTypes(), is_tensor) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
             })
             .wasInterrupted();
}

// A or B of a product that is a matrix, or matrices of a batch, transposed: read as it was before.
void fold_transposes(linalg::LinalgOp product) {
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  for (unsigned i = 0; i < 2; ++i) {
    auto transpose = product->getOperand(i).getDefiningOp<linalg::TransposeOp>();
    const int64_t rank = transpose ? transpose.getInit().getType().getRank() : 0;
    if (rank < 2 || maps[i].getNumResults() != rank || (rank == 3 && transpose.getPermutation()[0] != 0))
      continue;
    SmallVector<AffineExpr> results(maps[i].getResults());
    for (const auto& [to, from] : llvm::enumerate(transpose.getPermutation()))
      results[static_cast<size_t>(from)] = maps[i].getResult(static_cast<unsigned>(to));
    maps[i] = AffineMap::get(maps[i].getNumDims(), 0, results, product.getContext());
    product->setOperand(i, transpose.getInput());
  }
  const ArrayAttr attribute = Builder(product.getContext()).getAffineMapArrayAttr(maps);
  if (auto matmul = dyn_cast<linalg::MatmulOp>(product.getOperation()))
    matmul.setIndexingMapsAttr(attribute);
  else
    cast<linalg::BatchMatmulOp>(product.getOperation()).setIndexingMapsAttr(attribute);
}

// What a product is added to - rows of biases, say - is added elementwise after it, which its kernel does:
// where that rounds alike, as sums are of C's type.
void add_after(linalg::LinalgOp product) {
  const Value init = product.getDpsInits()[0];
  const Type sum = getElementTypeOrSelf(init);
  const unsigned bits = getElementTypeOrSelf(product->getOperand(0)).getIntOrFloatBitWidth();
  if ((!sum.isF32() && !sum.isInteger(32)) || bits > 16)
    return;
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    if (matchPattern(fill.getDpsInputs()[0], m_AnyZeroFloat()) ||
        matchPattern(fill.getDpsInputs()[0], m_Zero()))
      return;
  OpBuilder builder(product);
  const Location where = product.getLoc();
  const Value empty =
      tensor::EmptyOp::create(builder, where, tensor::getMixedSizes(builder, where, init), sum);
  const Value zero = arith::ConstantOp::create(builder, where, builder.getZeroAttr(sum));
  const Value zeros = linalg::FillOp::create(builder, where, zero, empty).getResult(0);
  product.setDpsInitOperand(0, zeros);
  builder.setInsertionPointAfter(product);
  Value made = product->getResult(0);
  auto added = linalg::AddOp::create(builder, where, ValueRange{made, init}, ValueRange(empty));
  made.replaceAllUsesExcept(added.getResult(0), added);
}

class TensorsToMemrefs : public PassWrapper<TensorsToMemrefs, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TensorsToMemrefs)
  StringRef getArgument() const override { return "lemma-tensors-to-memrefs"; }
  StringRef getDescription() const override { return "Turn host code on tensors into code on memrefs"; }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                    cf::ControlFlowDialect, func::FuncDialect, linalg::LinalgDialect, memref::MemRefDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (has_device_code(module) || llvm::none_of(module.getOps<func::FuncOp>(), has_tensors))
      return;
    SmallVector<linalg::LinalgOp> products;
    module.walk([&](linalg::LinalgOp op) {
      if (llvm::isa<linalg::MatmulOp, linalg::BatchMatmulOp>(op.getOperation()) &&
          op.hasPureTensorSemantics())
        products.push_back(op);
    });
    for (linalg::LinalgOp product : products) {
      fold_transposes(product);
      add_after(product);
    }
    OpPassManager generalize(ModuleOp::getOperationName());
    generalize.addPass(createConvertElementwiseToLinalgPass()); // arith and math on tensors
    if (failed(runPipeline(generalize, module)) || failed(fuse_elementwise(module)))
      return signalPassFailure();
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration() && has_tensors(function) &&
          SymbolTable::symbolKnownUseEmpty(function, module)) {
        entries.push_back(function);
        keep_arguments(function);
      }
    OpPassManager bufferize(ModuleOp::getOperationName());
    bufferization::OneShotBufferizePassOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
    options.unknownTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
    options.allowReturnAllocsFromLoops = true;
    bufferize.addPass(bufferization::createOneShotBufferizePass(options));
    bufferize.addPass(createCanonicalizerPass());
    bufferize.addPass(createCSEPass());
    if (failed(runPipeline(bufferize, module)))
      return signalPassFailure();
    for (func::FuncOp entry : entries)
      if (failed(results_to_arguments(entry)))
        return signalPassFailure();
    OpPassManager free(ModuleOp::getOperationName());
    bufferization::buildBufferDeallocationPipeline(free);
    if (failed(runPipeline(free, module)))
      signalPassFailure();
  }

private:
  // What is broadcast, or computed of elements alone, has no memory of its own if one operation uses it.
  static LogicalResult fuse_elementwise(ModuleOp module) {
    SmallVector<linalg::LinalgOp> named;
    module.walk([&](linalg::LinalgOp op) {
      if (!llvm::isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()) && op.hasPureTensorSemantics() &&
          (linalg::isElementwise(op) || llvm::isa<linalg::BroadcastOp>(op.getOperation())))
        named.push_back(op);
    });
    IRRewriter rewriter(module.getContext());
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op); // what cannot be stays as it is
    }
    RewritePatternSet patterns(module.getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, [](OpOperand* operand) {
      Operation* producer = operand->get().getDefiningOp();
      return producer && producer->hasOneUse();
    });
    return applyPatternsGreedily(module, std::move(patterns));
  }

  static void keep_arguments(func::FuncOp function) {
    constexpr StringRef writable = bufferization::BufferizationDialect::kWritableAttrName;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (llvm::isa<mlir::TensorType>(function.getArgument(i).getType()) && !function.getArgAttr(i, writable))
        function.setArgAttr(i, writable, BoolAttr::get(function.getContext(), false));
  }

  // Memrefs that the function returns become arguments: memory that was allocated for them is theirs, other
  // is copied.
  static LogicalResult results_to_arguments(func::FuncOp function) {
    SmallVector<func::ReturnOp> ends;
    function.walk([&](func::ReturnOp end) { ends.push_back(end); });
    SmallVector<Type> kept;
    for (const auto& [i, type] : llvm::enumerate(function.getResultTypes())) {
      const auto memref = dyn_cast<MemRefType>(type);
      if (!memref) {
        kept.push_back(type);
        continue;
      }
      const unsigned at = function.getNumArguments();
      if (failed(function.insertArgument(at, memref, {}, function.getLoc())))
        return failure();
      for (func::ReturnOp end : ends)
        give(end.getOperand(static_cast<unsigned>(i)), function.getArgument(at), end, ends.size() == 1);
    }
    llvm::BitVector gone(function.getNumResults());
    for (const auto& [i, type] : llvm::enumerate(function.getResultTypes()))
      gone[static_cast<unsigned>(i)] = llvm::isa<MemRefType>(type);
    for (func::ReturnOp end : ends)
      end->eraseOperands(gone);
    return function.eraseResults(gone);
  }

  static void give(Value made, Value result, func::ReturnOp end, bool is_only_end) {
    Operation* allocation = made.getDefiningOp<memref::AllocOp>();
    const bool is_own = allocation && is_only_end && made.getType() == result.getType() &&
                        allocation->getBlock() == end->getBlock() &&
                        llvm::count(end.getOperands(), made) == 1;
    OpBuilder builder(is_own ? allocation : end.getOperation());
    const auto type = cast<MemRefType>(result.getType());
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(static_cast<unsigned>(i)))
        continue;
      const OpBuilder::InsertionGuard guard(builder);
      const Location where = end.getLoc();
      const Value size = is_own ? cast<memref::AllocOp>(allocation)
                                      .getDynamicSizes()[type.getDynamicDimIndex(static_cast<unsigned>(i))]
                                : memref::DimOp::create(builder, where, made, i).getResult();
      if (is_own) // as early as it can be said: nothing comes between a product and what is fused with it
        builder.setInsertionPointAfterValue(size);
      const Value given = memref::DimOp::create(builder, where, result, i);
      const Value same = arith::CmpIOp::create(builder, where, arith::CmpIPredicate::eq, size, given);
      cf::AssertOp::create(builder, where, same,
                           "the memory that was given for a result has another size than the result");
    }
    if (!is_own) {
      memref::CopyOp::create(builder, end.getLoc(), made, result);
      return;
    }
    made.replaceAllUsesWith(result);
    allocation->erase();
  }
};

} // namespace

std::unique_ptr<Pass> create_tensors_pass() {
  return std::make_unique<TensorsToMemrefs>();
}

} // namespace lemma::nvgpu

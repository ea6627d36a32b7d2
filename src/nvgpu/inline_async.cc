// Host code of the async dialect, in the order in which it is written: the body of an async.execute runs
// where it stands, and a token or a value is there when it is awaited. That is one of the orders that the
// dialect allows; what the bodies do on the device stays asynchronous, by gpu's own tokens.
//
// Not here: functions that take or return tokens and values of async, async.func, coroutines.
//
// Tests: tests/mlir/run/async_host.mlir.
#include "nvgpu/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

using Cast = UnrealizedConversionCastOp;

// While bodies are put in, a cast stands for a token, or for the value that is awaited later.
Value stand_in(IRRewriter& rewriter, Location where, Type type, ValueRange value = {}) {
  return Cast::create(rewriter, where, type, value).getResult(0);
}

Value awaited(IRRewriter& rewriter, Location where, Value value) {
  const auto type = dyn_cast<async::ValueType>(value.getType());
  return type ? stand_in(rewriter, where, type.getValueType(), value) : Value();
}

void put_in(IRRewriter& rewriter, async::ExecuteOp op) {
  rewriter.setInsertionPoint(op);
  SmallVector<Value> arguments;
  for (const Value operand : op.getBodyOperands())
    arguments.push_back(awaited(rewriter, op.getLoc(), operand));
  Block* body = &op.getBodyRegion().front();
  Operation* yield = body->getTerminator();
  const SmallVector<Value> yielded(yield->getOperands());
  rewriter.inlineBlockBefore(body, op, arguments);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> results = {stand_in(rewriter, op.getLoc(), op.getToken().getType())};
  for (const auto& [result, value] : llvm::zip_equal(op.getBodyResults(), yielded))
    results.push_back(stand_in(rewriter, op.getLoc(), result.getType(), value));
  rewriter.eraseOp(yield);
  rewriter.replaceOp(op, results);
}

class InlineAsync : public PassWrapper<InlineAsync, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineAsync)
  StringRef getArgument() const override { return "inline-async"; }
  StringRef getDescription() const override {
    return "Put the bodies of async.execute where they stand, in order";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // From the outside in: a body that has been put in is looked at again.
    for (async::ExecuteOp op = next(); op; op = next())
      put_in(rewriter, op);
    getOperation().walk([&](Operation* op) { resolve(rewriter, op); });
    // What a cast made of a value, and back; then those that nobody needs, users first.
    SmallVector<Cast> casts;
    getOperation().walk([&](Cast op) { casts.push_back(op); });
    for (Cast op : casts) {
      Cast back = op.getInputs().size() == 1 ? op.getInputs()[0].getDefiningOp<Cast>() : Cast();
      if (back && back.getInputs().size() == 1 && back.getInputs()[0].getType() == op.getResult(0).getType())
        op.getResult(0).replaceAllUsesWith(back.getInputs()[0]);
    }
    for (Cast op : llvm::reverse(casts))
      if (op.use_empty())
        rewriter.eraseOp(op);
  }

private:
  async::ExecuteOp next() {
    async::ExecuteOp found;
    getOperation().walk<WalkOrder::PreOrder>([&](async::ExecuteOp op) {
      found = op;
      return WalkResult::interrupt();
    });
    return found;
  }

  // Waits and groups have nothing left to do.
  static void resolve(IRRewriter& rewriter, Operation* op) {
    rewriter.setInsertionPoint(op);
    if (auto await = dyn_cast<async::AwaitOp>(op)) {
      if (op->getNumResults() == 0)
        rewriter.eraseOp(op);
      else
        rewriter.replaceOp(op, awaited(rewriter, op->getLoc(), await.getOperand()));
    } else if (mlir::isa<async::AwaitAllOp>(op)) {
      rewriter.eraseOp(op);
    } else if (mlir::isa<async::AddToGroupOp>(op)) {
      if (op->use_empty())
        rewriter.eraseOp(op);
    } else if (mlir::isa<async::CreateGroupOp>(op)) {
      rewriter.replaceOp(op, stand_in(rewriter, op->getLoc(), op->getResult(0).getType()));
    }
  }
};

} // namespace

std::unique_ptr<Pass> create_inline_async_pass() {
  return std::make_unique<InlineAsync>();
}

} // namespace lemma::nvgpu

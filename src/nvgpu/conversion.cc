// Conversion with one message for one error.
//
// Tests: tests/mlir/lower/errors.mlir.
#include "nvgpu/lower.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Transforms/DialectConversion.h"

namespace lemma::nvgpu {

using namespace mlir;

LogicalResult convert(Operation* root, const ConversionTarget& target, RewritePatternSet patterns) {
  bool has_error = false;
  // MLIR adds "failed to legalize" to what a pattern has said.
  ScopedDiagnosticHandler handler(root->getContext(), [&](mlir::Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    const bool repeats = has_error && StringRef(diagnostic.str()).starts_with("failed to legalize operation");
    has_error = true;
    return success(repeats);
  });
  if (failed(applyPartialConversion(root, target, std::move(patterns))))
    return failure();
  // Casts that the program itself has: to a type of this dialect, and now back to what that became.
  SmallVector<UnrealizedConversionCastOp> casts;
  root->walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts);
  return success();
}

} // namespace lemma::nvgpu

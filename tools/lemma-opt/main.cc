// lemma-opt: an mlir-opt with our nvgpu dialect and passes, and the upstream dialects that go with it.
//
// Tests: tests/mlir/.
#include "nvgpu/context.h"
#include "nvgpu/passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  lemma::nvgpu::register_dialects(registry);
  lemma::nvgpu::register_passes();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Lemma's optimizer driver\n", registry));
}

// The functions of lemma/mlir.h where Lemma is built without MLIR.
//
// Tests: tests/cli/.
#include "lemma/mlir.h"

namespace lemma {
namespace {

Unexpected<Error> absent() {
  return Unexpected<Error>{
      {.kind = ErrorKind::unavailable,
       .text = "this lemma was built without MLIR: install libmlir-22-dev mlir-22-tools llvm-22-dev "
               "and configure again with -DLEMMA_NVGPU=ON",
       .messages = {}}};
}

} // namespace

Result<CompiledMlir, Error> compile_mlir(const std::string&, const MlirOptions&) {
  return absent();
}
Result<std::vector<MlirParameter>, Error> host_parameters(const std::string&, const std::string&,
                                                          const std::string&) {
  return absent();
}
std::vector<MlirSchedule> matmul_schedules() {
  return {};
}
bool has_host_code(const std::string&) {
  return false;
}
Result<MlirRun, Error> run_mlir(const std::string&, const MlirRunOptions&) {
  return absent();
}

} // namespace lemma

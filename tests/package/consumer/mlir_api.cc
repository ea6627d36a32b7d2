// Compiles and runs an MLIR program through the installed library; where that was built without MLIR, it says
// so.
#include <lemma/mlir.h>

#include <cstdio>
#include <string>

static constexpr const char* kText = R"(
func.func @main() -> i32 {
  %c1 = arith.constant 1 : index
  %answer = arith.constant 42 : i32
  %host = memref.alloc() : memref<1xi32>
  %device = gpu.alloc() : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %answer, %device[%x] : memref<1xi32>
    gpu.terminator
  }
  gpu.memcpy %host, %device : memref<1xi32>, memref<1xi32>
  %c0 = arith.constant 0 : index
  %value = memref.load %host[%c0] : memref<1xi32>
  return %value : i32
}
)";

int main() {
  const auto compiled = lemma::compile_mlir(kText, {.name = "answer.mlir"});
  if (!compiled && compiled.error().kind == lemma::ErrorKind::unavailable) {
    std::printf("MLIR: %s\n", compiled.error().text.c_str());
    return 0;
  }
  const auto ran = lemma::run_mlir(kText, {.name = "answer.mlir"});
  if (!compiled || !ran) {
    std::fprintf(stderr, "mlir_api: %s\n", (compiled ? ran.error() : compiled.error()).text.c_str());
    return 1;
  }
  const bool right = compiled->text.find(".entry main_kernel") != std::string::npos && ran->returned == 42;
  std::printf("MLIR: %zu bytes of PTX, the program returned %d\n", compiled->text.size(), ran->returned);
  return right ? 0 : 1;
}

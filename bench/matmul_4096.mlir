// A product of bf16 as a user writes it, whose kernel Lemma writes (docs/matmul.md).
func.func @main(%a: memref<4096x4096xbf16, 1>, %b: memref<4096x4096xbf16, 1>, %c: memref<4096x4096xbf16, 1>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : memref<4096x4096xbf16, 1>)
  linalg.matmul ins(%a, %b : memref<4096x4096xbf16, 1>, memref<4096x4096xbf16, 1>) outs(%c : memref<4096x4096xbf16, 1>)
  return
}

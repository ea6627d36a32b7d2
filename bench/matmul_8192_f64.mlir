// A product of f64 as a user writes it, whose kernel Lemma writes (docs/matmul.md).
func.func @main(%a: memref<8192x8192xf64, 1>, %b: memref<8192x8192xf64, 1>, %c: memref<8192x8192xf64, 1>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%c : memref<8192x8192xf64, 1>)
  linalg.matmul ins(%a, %b : memref<8192x8192xf64, 1>, memref<8192x8192xf64, 1>) outs(%c : memref<8192x8192xf64, 1>)
  return
}

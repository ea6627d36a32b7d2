// A product of s8 as a user writes it, whose kernel Lemma writes (docs/matmul.md).
func.func @main(%a: memref<8192x8192xi8, 1>, %b: memref<8192x8192xi8, 1>, %c: memref<8192x8192xi32, 1>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<8192x8192xi32, 1>)
  linalg.matmul indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>] ins(%a, %b : memref<8192x8192xi8, 1>, memref<8192x8192xi8, 1>) outs(%c : memref<8192x8192xi32, 1>)
  return
}

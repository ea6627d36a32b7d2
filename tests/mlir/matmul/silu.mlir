// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// A gate: silu of a product, in the kernel, times another matrix, by operations with names; sizes are the run's.
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK-DAG: ex2.approx.ftz.f32
// CHECK-DAG: div.approx.f32
// CHECK-DAG: stmatrix

#same = affine_map<(i, j) -> (i, j)>
func.func @main(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %gate: memref<?x?xf32>, %c: memref<?x?xbf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sums = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%sums : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#same], iterator_types = ["parallel", "parallel"]} outs(%sums : memref<?x?xf32>) {
  ^bb0(%x: f32):
    %minus = arith.negf %x : f32
    %exp = math.exp %minus : f32
    %below = arith.addf %exp, %one : f32
    %y = arith.divf %x, %below : f32
    linalg.yield %y : f32
  }
  linalg.mul ins(%sums, %gate : memref<?x?xf32>, memref<?x?xf32>) outs(%sums : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<?x?xf32>) outs(%c : memref<?x?xbf16>) {
  ^bb0(%x: f32, %old: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  }
  memref.dealloc %sums : memref<?x?xf32>
  return
}

// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Parts of K, which the sizes suggest, and what follows in the kernel that adds them up: both kernels in one PTX.
// CHECK-DAG: .visible .entry matmul_kernel(
// CHECK-DAG: .visible .entry matmul_kernel_0(

func.func @main(%a: memref<16x4096xbf16>, %b: memref<4096x4096xbf16>, %c: memref<16x4096xf32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%c : memref<16x4096xf32>)
  linalg.matmul ins(%a, %b : memref<16x4096xbf16>, memref<4096x4096xbf16>) outs(%c : memref<16x4096xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<16x4096xf32>) {
  ^bb0(%s: f32):
    %e = arith.maximumf %s, %z : f32
    linalg.yield %e : f32
  }
  return
}

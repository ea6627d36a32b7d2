// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Bias and gelu in its tanh form, in place.
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK-DAG: stmatrix
// CHECK-DAG: tanh.approx.f32

#same = affine_map<(i, j) -> (i, j)>
func.func @main(%a: memref<256x64xf16>, %b: memref<64x256xf16>, %bias: memref<256xf32>, %c: memref<256x256xf16>) {
  %zero = arith.constant 0.0 : f16
  linalg.fill ins(%zero : f16) outs(%c : memref<256x256xf16>)
  linalg.matmul ins(%a, %b : memref<256x64xf16>, memref<64x256xf16>) outs(%c : memref<256x256xf16>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #same], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<256xf32>) outs(%c : memref<256x256xf16>) {
  ^bb0(%b_j: f32, %x: f16):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %cubic = arith.constant 0.044715 : f32
    %root = arith.constant 0.797884583 : f32
    %wide = arith.extf %x : f16 to f32
    %v = arith.addf %wide, %b_j : f32
    %v2 = arith.mulf %v, %v : f32
    %v3 = arith.mulf %v2, %v : f32
    %w = arith.mulf %v3, %cubic : f32
    %s = arith.addf %v, %w : f32
    %t = arith.mulf %s, %root : f32
    %tanh = math.tanh %t : f32
    %p = arith.addf %tanh, %one : f32
    %h = arith.mulf %v, %half : f32
    %g = arith.mulf %h, %p : f32
    %y = arith.truncf %g : f32 to f16
    linalg.yield %y : f16
  }
  return
}

// REQUIRES: numpy
// RUN: lemma run %s --check --arg u64=3 --arg out=%t.npy:f16[8,16] 2>&1 | FileCheck %s
// RUN: %python -c "import numpy; assert (numpy.load(r'%t.npy') == 8).all()"
//
// Tensors through a loop and a function: ones, three times by a matrix of 1/8 with 16 rows.
// CHECK: 3 launches; checked: no findings

#same = affine_map<(i, j) -> (i, j)>
func.func private @dense(%x: tensor<8x16xf16>, %w: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x16xf16>, tensor<16x16xf16>) outs(%zeros : tensor<8x16xf32>) -> tensor<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf16>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<8x16xf32>) outs(%e : tensor<8x16xf16>) {
  ^bb0(%a: f32, %old: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<8x16xf16>
  return %r : tensor<8x16xf16>
}
func.func @main(%n: index) -> tensor<8x16xf16> {
  %x = arith.constant dense<1.0> : tensor<8x16xf16>
  %w = arith.constant dense<0.125> : tensor<16x16xf16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<8x16xf16> {
    %z = func.call @dense(%v, %w) : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
    scf.yield %z : tensor<8x16xf16>
  }
  return %y : tensor<8x16xf16>
}

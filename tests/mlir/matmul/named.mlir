// RUN: lemma-opt --lemma-matmul-to-nvgpu %s | FileCheck %s
// RUN: lemma compile %s -o %t.ptx && lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// A chain of operations with names, and a copy at its end: one call, and none of the memory between.

// CHECK-LABEL: func.func @main
// CHECK-NOT: alloc
// CHECK: call @multiply(%arg0, %arg1, %arg2)
// CHECK-NOT: linalg
// CHECK-NOT: alloc
// CHECK: return
func.func @main(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %d: memref<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<32x32xf32>
  %t = memref.alloc() : memref<32x32xf32>
  %u = memref.alloc() : memref<32x32xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<32x32xf32>)
  linalg.matmul ins(%a, %b : memref<32x32xf16>, memref<32x32xf16>) outs(%s : memref<32x32xf32>)
  linalg.exp ins(%s : memref<32x32xf32>) outs(%t : memref<32x32xf32>)
  linalg.elementwise kind=#linalg.elementwise_kind<negf> ins(%t : memref<32x32xf32>) outs(%u : memref<32x32xf32>)
  memref.copy %u, %d : memref<32x32xf32> to memref<32x32xf32>
  memref.dealloc %s : memref<32x32xf32>
  memref.dealloc %t : memref<32x32xf32>
  memref.dealloc %u : memref<32x32xf32>
  return
}

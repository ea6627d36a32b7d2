// REQUIRES: numpy
// RUN: lemma-opt --lemma-matmul-to-nvgpu %s | FileCheck %s
// RUN: %python -c "import numpy as n; n.save(r'%t.a', n.ones((64, 64), 'f2')); n.save(r'%t.b', n.full((64, 32), 1 / 64, 'f2')); n.save(r'%t.c', n.full((32, 64), 1 / 32, 'f2')); n.save(r'%t.d', n.full((64, 64), 64, 'f4'))"
// RUN: lemma run %s --check --arg in=%t.a.npy --arg in=%t.b.npy --arg in=%t.c.npy --arg out=%t.out:f32[64,64] --arg expect=%t.d.npy --arg out=%t.e:f16[64,64] --arg expect=%t.a.npy
//
// What one product writes and the next reads stays on the device; what somebody else reads, too, does not.

// CHECK-LABEL: func.func @main
// CHECK: %[[HIDDEN:.*]] = gpu.alloc () : memref<64x32xf16>
// CHECK: call @multiply{{.*}}(%{{.*}}, %{{.*}}, %[[HIDDEN]])
// CHECK: %[[SEEN:.*]] = memref.alloc() : memref<64x64xf16>
// CHECK: call @multiply{{.*}}(%[[HIDDEN]], %{{.*}}, %[[SEEN]])
// CHECK: gpu.dealloc %[[HIDDEN]]
// CHECK: linalg.copy
// CHECK: call @multiply{{.*}}(%[[SEEN]],
func.func @main(%a: memref<64x64xf16>, %b: memref<64x32xf16>, %c: memref<32x64xf16>, %d: memref<64x64xf32>, %e: memref<64x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %small_zero = arith.constant 0.0 : f16
  %hidden = memref.alloc() {alignment = 64 : i64} : memref<64x32xf16>
  linalg.fill ins(%small_zero : f16) outs(%hidden : memref<64x32xf16>)
  linalg.matmul ins(%a, %b : memref<64x64xf16>, memref<64x32xf16>) outs(%hidden : memref<64x32xf16>)
  %seen = memref.alloc() : memref<64x64xf16>
  linalg.fill ins(%small_zero : f16) outs(%seen : memref<64x64xf16>)
  linalg.matmul ins(%hidden, %c : memref<64x32xf16>, memref<32x64xf16>) outs(%seen : memref<64x64xf16>)
  memref.dealloc %hidden : memref<64x32xf16>
  linalg.copy ins(%seen : memref<64x64xf16>) outs(%e : memref<64x64xf16>)
  linalg.fill ins(%zero : f32) outs(%d : memref<64x64xf32>)
  linalg.matmul ins(%seen, %e : memref<64x64xf16>, memref<64x64xf16>) outs(%d : memref<64x64xf32>)
  memref.dealloc %seen : memref<64x64xf16>
  return
}

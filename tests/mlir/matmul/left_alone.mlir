// RUN: lemma-opt --lemma-matmul-to-nvgpu %s | FileCheck %s
//
// Products that stay the host's: in programs with kernels of their own.

module {
  // CHECK-LABEL: func.func @exact
  // CHECK: linalg.matmul
  func.func @exact(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>) {
    linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
    return
  }
  // CHECK-LABEL: func.func @reference
  // CHECK: linalg.matmul
  func.func @reference(%a: memref<4x4xf16>, %b: memref<4x4xf16>, %c: memref<4x4xf32>) {
    linalg.matmul ins(%a, %b : memref<4x4xf16>, memref<4x4xf16>) outs(%c : memref<4x4xf32>)
    return
  }
  gpu.module @kernels {
    gpu.func @own() kernel {
      gpu.return
    }
  }
}

// RUN: %not lemma compile %s 2>&1 | FileCheck %s
// RUN: %not lemma compile %s --emit=nvgpu 2>&1 | FileCheck %s
// RUN: %not lemma run %s --grid 1 --block 32 2>&1 | FileCheck %s
//
// A program that parses and is illegal: where, what, and what is legal.

// CHECK: error_illegal.mlir:[[# @LINE + 6]]:10: error: 'nvgpu.mma.sync' op mma.sync of f16 x f16 -> f32 has no shape m16n8k20; legal: m8n8k4, m16n8k8, m16n8k16
// CHECK-NEXT: %d = nvgpu.mma.sync
// CHECK-NEXT: {{^ +\| +\^$}}
gpu.module @kernels {
  gpu.func @kernel(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %out: memref<2x2xf32>) kernel {
    %i = arith.constant 0 : index
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 20]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.transfer_write %d, %out[%i, %i] : vector<2x2xf32>, memref<2x2xf32>
    gpu.return
  }
}

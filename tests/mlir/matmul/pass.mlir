// RUN: lemma-opt --lemma-matmul-to-nvgpu %s | FileCheck %s
// RUN: lemma compile %s -o %t.ptx && lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: %not lemma compile %s --schedule=fastest 2>&1 | FileCheck %s --check-prefix=NAMES
//
// What becomes of a product of the host's matrices: the call of a function that copies them and calls one with the kernel.
// NAMES: error: there is no schedule fastest; there are 128x256_s4_g16, 128x256_s4_g24, 128x256_s4_c2x1_g8

// CHECK-LABEL: func.func private @matmul(
// CHECK: nvgpu.tma.create.descriptor
// CHECK: gpu.launch
// CHECK: nvvm.setmaxregister decrease
// CHECK: nvgpu.tma.async.load
// CHECK: nvvm.setmaxregister increase
// CHECK: nvgpu.warpgroup.mma
// CHECK: nvgpu.warpgroup.mma.wait
// CHECK: nvgpu.warpgroup.mma.extract
// CHECK: nvgpu.stmatrix
// CHECK: nvgpu.tma.async.store

// CHECK-LABEL: func.func private @multiply(
// CHECK-COUNT-2: gpu.memcpy
// CHECK: call @matmul(
// CHECK-NEXT: gpu.memcpy
// CHECK: return

// CHECK-LABEL: func.func @main
// CHECK: call @multiply(
// CHECK-NEXT: call @multiply(
// CHECK-NEXT: return

// PTX-DAG: setmaxnreg.inc
// PTX-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16
// PTX-DAG: stmatrix.sync.aligned.m8n8.x4.shared.b16
func.func @main(%a: memref<512x256xbf16>, %b: memref<256x512xbf16>, %c: memref<512x512xbf16>, %d: memref<512x512xbf16>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : memref<512x512xbf16>)
  linalg.matmul ins(%a, %b : memref<512x256xbf16>, memref<256x512xbf16>) outs(%c : memref<512x512xbf16>)
  linalg.fill ins(%zero : bf16) outs(%d : memref<512x512xbf16>)
  linalg.matmul ins(%a, %b : memref<512x256xbf16>, memref<256x512xbf16>) outs(%d : memref<512x512xbf16>)
  return
}

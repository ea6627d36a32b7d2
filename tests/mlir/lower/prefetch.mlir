// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// memref.prefetch: into the L1 what is wanted most, else into the L2; nothing of shared memory, and of
// instructions.

gpu.module @kernels {
  memref.global "private" @tile : memref<32x32xf32, 3> {alignment = 16}

  // CHECK-LABEL: .entry prefetches(
  gpu.func @prefetches(%any: memref<?x32xf32>, %global: memref<8x?xbf16, 1>, %i: index) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: prefetch.L1 [%rd{{[0-9]+}}];
    memref.prefetch %any[%i, %c0], read, locality<3>, data : memref<?x32xf32>
    // CHECK: prefetch.L2 [%rd{{[0-9]+}}];
    memref.prefetch %any[%i, %c0], write, locality<2>, data : memref<?x32xf32>
    // CHECK: prefetch.global.L1 [%rd{{[0-9]+}}];
    memref.prefetch %global[%c0, %i], read, locality<3>, data : memref<8x?xbf16, 1>
    // CHECK: prefetch.global.L2 [%rd{{[0-9]+}}];
    memref.prefetch %global[%c0, %i], read, locality<0>, data : memref<8x?xbf16, 1>
    // CHECK-NOT: {{prefetch.(L|global)}}
    memref.prefetch %any[%i, %c0], read, locality<3>, instr : memref<?x32xf32>
    %tile = memref.get_global @tile : memref<32x32xf32, 3>
    memref.prefetch %tile[%i, %c0], read, locality<3>, data : memref<32x32xf32, 3>
    // CHECK: ret;
    gpu.return
  }
}

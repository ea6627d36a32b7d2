// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Operations of upstream's nvvm dialect: some are intrinsics of LLVM, some are text.

gpu.module @kernels {
  // CHECK-LABEL: .entry approximate
  gpu.func @approximate(%values: memref<32xf32>, %go: i1) kernel {
    %i = gpu.thread_id x
    %v = memref.load %values[%i] : memref<32xf32>
    // CHECK: rcp.approx.ftz.f32
    %a = nvvm.rcp.approx.ftz.f %v : f32
    // CHECK: ex2.approx.ftz.f32
    %b = nvvm.inline_ptx "ex2.approx.ftz.f32 {$w0}, {$r0};" ro (%a : f32) -> f32
    memref.store %b, %values[%i] : memref<32xf32>
    // CHECK: @%{{p[0-9]+}} fence.proxy.async;
    nvvm.inline_ptx "fence.proxy.async;", predicate = %go
    gpu.return
  }
}

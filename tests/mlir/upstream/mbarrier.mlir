// REQUIRES: mlir-opt
// RUN: %mlir-opt %s -o %t.pretty.mlir && %mlir-opt %s --mlir-print-op-generic -o %t.generic.mlir
// RUN: lemma-opt %t.pretty.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %t.generic.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %s --mlir-print-op-generic | %mlir-opt | diff %t.pretty.mlir -
// RUN: lemma compile %t.pretty.mlir -o %t.ptx && lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: lemma compile %t.generic.mlir | grep -v "\.file\|\.loc" > %t.generic.ptx
// RUN: grep -v "\.file\|\.loc" %t.ptx | diff - %t.generic.ptx
//
// The mbarrier operations as LLVM 22's mlir-opt prints them.

!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!four = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>

gpu.module @kernels {
  // CHECK-LABEL: .entry phases(
  gpu.func @phases(%id: index, %flag: i1, %ticks: index, %out: memref<2xi1>, %pointers: memref<1xi32>, %wide: memref<1xi64>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %one = nvgpu.mbarrier.create -> !one
    %four = nvgpu.mbarrier.create -> !four
    // CHECK: mbarrier.init.shared.b64
    nvgpu.mbarrier.init %one[%c0], %c32 : !one
    // CHECK: @%p{{[0-9]+}} mbarrier.init.shared.b64
    nvgpu.mbarrier.init %four[%id], %c32, predicate = %flag : !four
    %address = nvgpu.mbarrier.get %four[%id] : !four -> i32
    memref.store %address, %pointers[%c0] : memref<1xi32>
    %wider = nvgpu.mbarrier.get %one[%c0] : !one -> i64
    memref.store %wider, %wide[%c0] : memref<1xi64>
    // CHECK: mbarrier.arrive.shared.b64 %rd{{[0-9]+}}, [
    %0 = nvgpu.mbarrier.arrive %one[%c0] : !one -> !nvgpu.mbarrier.token
    // CHECK: mbarrier.arrive.noComplete.shared.b64 %rd{{[0-9]+}}, [
    %1 = nvgpu.mbarrier.arrive.nocomplete %four[%id], %c1 : !four -> !nvgpu.mbarrier.token
    // CHECK: mbarrier.test_wait.shared.b64
    %2 = nvgpu.mbarrier.test.wait %one[%c0], %0 : !one, !nvgpu.mbarrier.token
    // CHECK: mbarrier.test_wait.shared.b64
    %3 = nvgpu.mbarrier.test.wait %four[%id], %1 : !four, !nvgpu.mbarrier.token
    memref.store %2, %out[%c0] : memref<2xi1>
    memref.store %3, %out[%c1] : memref<2xi1>
    // CHECK: mbarrier.arrive.expect_tx.shared.b64 _, [
    nvgpu.mbarrier.arrive.expect_tx %one[%c0], %c32 : !one
    // CHECK: @%p{{[0-9]+}} mbarrier.arrive.expect_tx.shared.b64 _, [
    nvgpu.mbarrier.arrive.expect_tx %four[%id], %c32, predicate = %flag : !four
    // CHECK: mbarrier.try_wait.parity.shared.b64
    nvgpu.mbarrier.try_wait.parity %one[%c0], %flag, %ticks : !one
    gpu.return
  }
}

// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma compile %s --emit nvvm | FileCheck %s --check-prefix=MEMORY
//
// mbarriers as instructions of the same names; their memory.

!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!four = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>

gpu.module @kernels {
  // Every create has a variable of its own; a name that the program has is not taken.
  // MEMORY-DAG: llvm.mlir.global internal @__mbarrier_1() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<4 x i64>
  // MEMORY-DAG: llvm.mlir.global internal @__mbarrier_2() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  memref.global "private" @__mbarrier : memref<2xi32, 3>

  // CHECK-LABEL: .entry operations(
  // CHECK-DAG: .shared .align 8 .b8 __mbarrier_1[32];
  // CHECK-DAG: .shared .align 8 .b8 __mbarrier_2[8];
  gpu.func @operations(%i: index, %count: index, %p: i1, %out: memref<4xi64>, %complete: memref<1xi1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %mine = memref.get_global @__mbarrier : memref<2xi32, 3>
    %word = memref.load %mine[%c0] : memref<2xi32, 3>
    %word64 = arith.extui %word : i32 to i64
    memref.store %word64, %out[%c0] : memref<4xi64>
    %group = nvgpu.mbarrier.create -> !four
    %single = nvgpu.mbarrier.create -> !one
    // The address of mbarrier %i: 8 bytes each.
    // CHECK: shl.b64 [[OFFSET:%rd[0-9]+]], %rd{{[0-9]+}}, 3;
    // CHECK: mov.b64 [[BASE:%rd[0-9]+]], __mbarrier_1;
    // CHECK: add.s64 [[WIDE:%rd[0-9]+]], [[BASE]], [[OFFSET]];
    // CHECK: cvt.u32.u64 [[BAR:%r[0-9]+]], [[WIDE]];
    // CHECK: @%p{{[0-9]+}} mbarrier.init.shared.b64 {{\[}}[[BAR]]], [[COUNT:%r[0-9]+]];
    nvgpu.mbarrier.init %group[%i], %count, predicate = %p : !four
    // CHECK: {{^[[:space:]]}}mbarrier.init.shared.b64 [[[ONE:%r[0-9]+]]], [[COUNT]];
    nvgpu.mbarrier.init %single, %count : !one
    // CHECK: mbarrier.arrive.shared.b64 [[STATE:%rd[0-9]+]], {{\[}}[[BAR]]];
    %token = nvgpu.mbarrier.arrive %group[%i] : !four -> !nvgpu.mbarrier.token
    // CHECK: mbarrier.arrive.noComplete.shared.b64 %rd{{[0-9]+}}, {{\[}}[[BAR]]], [[COUNT]];
    %other = nvgpu.mbarrier.arrive.nocomplete %group[%i], %count : !four -> !nvgpu.mbarrier.token
    // CHECK: @%p{{[0-9]+}} mbarrier.arrive.expect_tx.shared.b64 _, {{\[}}[[BAR]]], [[COUNT]];
    nvgpu.mbarrier.arrive.expect_tx %group[%i], %count, predicate = %p : !four
    // CHECK: {{^[[:space:]]}}mbarrier.arrive.expect_tx.shared.b64 _, {{\[}}[[ONE]]], [[COUNT]];
    nvgpu.mbarrier.arrive.expect_tx %single, %count : !one
    // CHECK: mbarrier.test_wait.shared.b64 %p{{[0-9]+}}, {{\[}}[[BAR]]], [[STATE]];
    %done = nvgpu.mbarrier.test.wait %group[%i], %token : !four, !nvgpu.mbarrier.token
    memref.store %done, %complete[%c0] : memref<1xi1>
    // CHECK-DAG: st.global{{.*}} [[WIDE]];
    %wide = nvgpu.mbarrier.get %group[%i] : !four -> i64
    memref.store %wide, %out[%c1] : memref<4xi64>
    gpu.return
  }

  // Waiting goes on until the phase is complete.
  // CHECK-LABEL: .entry waits(
  gpu.func @waits(%phase: index, %parity: i1, %ticks: index) kernel {
    %single = nvgpu.mbarrier.create -> !one
    // CHECK: and.b32 [[PARITY:%r[0-9]+]], %r{{[0-9]+}}, 1;
    // CHECK: {
    // CHECK-NEXT: .reg .pred complete;
    // CHECK-NEXT: try:
    // CHECK-NEXT: mbarrier.try_wait.parity.shared.b64 complete, [%r{{[0-9]+}}], [[PARITY]], [[TICKS:%r[0-9]+]];
    // CHECK-NEXT: @!complete bra try;
    // CHECK-NEXT: }
    nvgpu.mbarrier.try_wait.parity %single, %phase, %ticks : !one
    // CHECK: {
    // CHECK-NEXT: .reg .pred complete;
    // CHECK-NEXT: try:
    // CHECK-NEXT: mbarrier.try_wait.parity.shared.b64 complete, [%r{{[0-9]+}}], %r{{[0-9]+}}, [[TICKS]];
    // CHECK-NEXT: @!complete bra try;
    // CHECK-NEXT: }
    nvgpu.mbarrier.try_wait.parity %single, %parity, %ticks : !one
    gpu.return
  }
}

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
// nvgpu.device_async_copy, device_async_create_group and device_async_wait as LLVM 22's mlir-opt prints them.

gpu.module @kernels {
  // CHECK-LABEL: .entry copies(
  gpu.func @copies(%from: memref<4x64xf32>, %elements: index) workgroup(%to: memref<2x4x64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 8;
    %0 = nvgpu.device_async_copy %from[%c0, %c0], %to[%c0, %c0, %c0], 2 : memref<4x64xf32> to memref<2x4x64xf32, #gpu.address_space<workgroup>>
    // CHECK: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16;
    %1 = nvgpu.device_async_copy %from[%c1, %c0], %to[%c0, %c1, %c0], 4 {bypassL1} : memref<4x64xf32> to memref<2x4x64xf32, #gpu.address_space<workgroup>>
    // CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
    %2 = nvgpu.device_async_copy %from[%c1, %c0], %to[%c1, %c1, %c0], 4, %elements : memref<4x64xf32> to memref<2x4x64xf32, #gpu.address_space<workgroup>>
    // CHECK: cp.async.commit_group;
    %3 = nvgpu.device_async_create_group %0, %1
    // CHECK: cp.async.commit_group;
    %4 = nvgpu.device_async_create_group %2
    // CHECK: cp.async.commit_group;
    %5 = nvgpu.device_async_create_group
    // CHECK: cp.async.wait_group 2;
    nvgpu.device_async_wait %3 {numGroups = 2 : i32}
    // CHECK: cp.async.wait_group 0;
    nvgpu.device_async_wait %5
    gpu.return
  }

  // A token as a type by itself.
  func.func @later(%token: !nvgpu.device.async.token) {
    nvgpu.device_async_wait %token
    return
  }
}

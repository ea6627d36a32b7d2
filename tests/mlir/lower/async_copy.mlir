// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Asynchronous copies as cp.async, its groups, and the clamp of the bytes that are read.

gpu.module @kernels {
  memref.global "private" @tile : memref<32x32xf32, 3> {alignment = 16}

  // CHECK-LABEL: .entry copies(
  gpu.func @copies(%src: memref<?x32xf32>, %dst: memref<f32>, %i: index) kernel {
    %tile = memref.get_global @tile : memref<32x32xf32, 3>
    %c0 = arith.constant 0 : index
    // CHECK: cvta.to.global.u64
    // CHECK: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16;
    %a = nvgpu.device_async_copy %src[%i, %c0], %tile[%i, %c0], 4 {bypassL1} : memref<?x32xf32> to memref<32x32xf32, 3>
    // CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16;
    %b = nvgpu.device_async_copy %src[%i, %c0], %tile[%i, %c0], 4 : memref<?x32xf32> to memref<32x32xf32, 3>
    // CHECK: cp.async.commit_group;
    %g = nvgpu.device_async_create_group %a, %b
    // CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 8;
    %c = nvgpu.device_async_copy %src[%i, %c0], %tile[%i, %c0], 2 : memref<?x32xf32> to memref<32x32xf32, 3>
    // CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 4;
    %d = nvgpu.device_async_copy %src[%i, %c0], %tile[%i, %c0], 1 : memref<?x32xf32> to memref<32x32xf32, 3>
    // CHECK: cp.async.commit_group;
    %h = nvgpu.device_async_create_group %c, %d
    // CHECK: cp.async.wait_group 1;
    nvgpu.device_async_wait %g {numGroups = 1 : i32}
    // CHECK: ld.shared
    %x = memref.load %tile[%c0, %c0] : memref<32x32xf32, 3>
    // CHECK: cp.async.wait_group 0;
    nvgpu.device_async_wait %h
    // The same word again: the wait lies between, so it is read again.
    // CHECK: ld.shared
    %y = memref.load %tile[%c0, %c0] : memref<32x32xf32, 3>
    %z = arith.addf %x, %y : f32
    memref.store %z, %dst[] : memref<f32>
    gpu.return
  }

  // CHECK-LABEL: .entry clamped(
  gpu.func @clamped(%src: memref<64xf32>, %i: index, %n: index) kernel {
    %tile = memref.get_global @tile : memref<32x32xf32, 3>
    // CHECK: max.s64 [[LOW:%rd[0-9]+]], %rd{{[0-9]+}}, 0;
    // CHECK: min.s64 [[HIGH:%rd[0-9]+]], [[LOW]], 4;
    // CHECK: cvt.u32.u64 [[N:%r[0-9]+]], [[HIGH]];
    // CHECK: shl.b32 [[BYTES:%r[0-9]+]], [[N]], 2;
    // CHECK: cp.async.ca.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16, [[BYTES]];
    %a = nvgpu.device_async_copy %src[%i], %tile[%i, %i], 4, %n : memref<64xf32> to memref<32x32xf32, 3>
    gpu.return
  }
}

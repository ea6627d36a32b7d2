// RUN: lemma-opt %s | lemma-opt | FileCheck %s
//
// Asynchronous copies: what they read, and how they print.

// CHECK-LABEL: func @copies
func.func @copies(%src: memref<4x5xf32>, %dst: memref<2x7x8xf32, 3>, %i: index, %n: index) {
  // CHECK: %[[A:.*]] = nvgpu.device_async_copy %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], 4 : memref<4x5xf32> to memref<2x7x8xf32, 3>
  %a = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i, %i], 4 : memref<4x5xf32> to memref<2x7x8xf32, 3>
  // CHECK: %[[B:.*]] = nvgpu.device_async_copy %{{.*}}, 4, %{{.*}} {bypassL1} : memref<4x5xf32> to memref<2x7x8xf32, 3>
  %b = nvgpu.device_async_copy %src[%i, %i], %dst[%i, %i, %i], 4, %n {bypassL1} : memref<4x5xf32> to memref<2x7x8xf32, 3>
  // CHECK: %[[G:.*]] = nvgpu.device_async_create_group %[[A]], %[[B]]
  %g = nvgpu.device_async_create_group %a, %b
  // CHECK: nvgpu.device_async_create_group
  %none = nvgpu.device_async_create_group
  // CHECK: nvgpu.device_async_wait %[[G]] {numGroups = 1 : i32}
  nvgpu.device_async_wait %g {numGroups = 1 : i32}
  // CHECK: nvgpu.device_async_wait %[[G]]{{$}}
  nvgpu.device_async_wait %g
  return
}

// 4, 8 and 16 bytes of any element; a row that is no longer than one element; memory by name.
// CHECK-LABEL: func @sizes
func.func @sizes(%bytes: memref<64xi8>, %to: memref<64xi8, #gpu.address_space<workgroup>>,
                 %pairs: memref<8xvector<2xf32>, #gpu.address_space<global>>, %to_pairs: memref<8xvector<2xf32>, 3>,
                 %column: memref<8x1xf64, strided<[4, 4]>>, %to64: memref<8xf64, 3>, %i: index) {
  // CHECK-COUNT-5: nvgpu.device_async_copy
  %0 = nvgpu.device_async_copy %bytes[%i], %to[%i], 4 : memref<64xi8> to memref<64xi8, #gpu.address_space<workgroup>>
  %1 = nvgpu.device_async_copy %bytes[%i], %to[%i], 8 : memref<64xi8> to memref<64xi8, #gpu.address_space<workgroup>>
  %2 = nvgpu.device_async_copy %bytes[%i], %to[%i], 16 : memref<64xi8> to memref<64xi8, #gpu.address_space<workgroup>>
  %3 = nvgpu.device_async_copy %pairs[%i], %to_pairs[%i], 2 : memref<8xvector<2xf32>, #gpu.address_space<global>> to memref<8xvector<2xf32>, 3>
  %4 = nvgpu.device_async_copy %column[%i, %i], %to64[%i], 1 : memref<8x1xf64, strided<[4, 4]>> to memref<8xf64, 3>
  return
}

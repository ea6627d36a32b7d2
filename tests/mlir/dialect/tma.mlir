// RUN: lemma-opt %s | lemma-opt | FileCheck %s
//
// Tensor maps and tensor copies.

!group = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
!old_group = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
!plain = !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>
!line = !nvgpu.tensormap.descriptor<tensor = memref<256xi8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!five = !nvgpu.tensormap.descriptor<tensor = memref<1x2x3x4x8xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = none>
!image = !nvgpu.tensormap.descriptor<tensor = memref<1x1x512x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!interleaved = !nvgpu.tensormap.descriptor<tensor = memref<4x8x16xf16, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = interleave_32b>

// CHECK-LABEL: func @load
func.func @load(%plain: !plain, %line: !line, %five: !five, %g: !group, %to: memref<32x64xf16, 3>,
                %to_line: memref<16x16xi8, 3>, %to_five: memref<?xf32, #gpu.address_space<workgroup>>,
                %i: index, %mask: i16, %p: i1) {
  // CHECK: nvgpu.tma.async.load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}] to %{{.*}} : <tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>, <memorySpace = 3 : i64, num_barriers = 2> -> memref<32x64xf16, 3>
  nvgpu.tma.async.load %plain[%i, %i], %g[%i] to %to : !plain, !group -> memref<32x64xf16, 3>
  // CHECK: nvgpu.tma.async.load {{.*}} to %{{.*}} multicast_mask = %{{.*}}, predicate = %{{.*}} :
  nvgpu.tma.async.load %plain[%i, %i], %g[%i] to %to multicast_mask = %mask, predicate = %p : !plain, !group -> memref<32x64xf16, 3>
  // A destination of another shape, and of one that the type does not say.
  // CHECK: nvgpu.tma.async.load {{.*}} -> memref<16x16xi8, 3>
  nvgpu.tma.async.load %line[%i], %g[%i] to %to_line : !line, !group -> memref<16x16xi8, 3>
  // CHECK: nvgpu.tma.async.load {{.*}} -> memref<?xf32, #gpu.address_space<workgroup>>
  nvgpu.tma.async.load %five[%i, %i, %i, %i, %i], %g[%i] to %to_five : !five, !group -> memref<?xf32, #gpu.address_space<workgroup>>
  return
}

// As programs of 2023 have it: one mbarrier, and a part of a row of tiles as the destination.
// CHECK-LABEL: func @load_of_2023
func.func @load_of_2023(%plain: !plain, %g: !old_group, %to: memref<32x64xf16, strided<[128, 1], offset: 64>, 3>, %i: index) {
  // CHECK: nvgpu.tma.async.load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} to %{{.*}} : <{{.*}}>, <memorySpace = #gpu.address_space<workgroup>> ->
  nvgpu.tma.async.load %plain[%i, %i], %g to %to : !plain, !old_group -> memref<32x64xf16, strided<[128, 1], offset: 64>, 3>
  return
}

// CHECK-LABEL: func @load_im2col
func.func @load_im2col(%image: !image, %g: !group, %to: memref<512x64xbf16, 3>, %i: index) {
  // CHECK: nvgpu.tma.async.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] im2col[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}] to
  nvgpu.tma.async.load %image[%i, %i, %i, %i] im2col [%i, %i], %g[%i] to %to : !image, !group -> memref<512x64xbf16, 3>
  return
}

// CHECK-LABEL: func @store
func.func @store(%plain: !plain, %interleaved: !interleaved, %from: memref<32x64xf16, 3>, %tiles: memref<512xf16, 3>, %i: index, %p: i1) {
  // CHECK: nvgpu.tma.async.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] : memref<32x64xf16, 3> -> <tensor
  nvgpu.tma.async.store %from to %plain[%i, %i] : memref<32x64xf16, 3> -> !plain
  // CHECK: nvgpu.tma.async.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], predicate = %{{.*}} :
  nvgpu.tma.async.store %tiles to %interleaved[%i, %i, %i], predicate = %p : memref<512xf16, 3> -> !interleaved
  return
}

// CHECK-LABEL: func @maps
func.func @maps(%tensor: memref<*xf16>, %pixels: memref<*xbf16>, %rows: index, %columns: index, %p: i1) {
  // CHECK: %[[M:.*]] = nvgpu.tma.create.descriptor %{{.*}} box[%{{.*}}, %{{.*}}] : memref<*xf16> -> <tensor = memref<32x64xf16, 3>
  %map = nvgpu.tma.create.descriptor %tensor box[%rows, %columns] : memref<*xf16> -> !plain
  // CHECK: nvgpu.tma.create.descriptor %{{.*}} box[] {channelsPerPixel = 64 : i32, pixelBoxLower = array<i32: -1, -1>, pixelBoxUpper = array<i32: 1, 1>, pixelsPerColumn = 512 : i32} :
  %image = nvgpu.tma.create.descriptor %pixels box[] {pixelBoxLower = array<i32: -1, -1>, pixelBoxUpper = array<i32: 1, 1>, channelsPerPixel = 64 : i32, pixelsPerColumn = 512 : i32} : memref<*xbf16> -> !image
  // CHECK: nvgpu.tma.prefetch.descriptor %[[M]] : <tensor
  nvgpu.tma.prefetch.descriptor %map : !plain
  // CHECK: nvgpu.tma.prefetch.descriptor %[[M]], predicate = %{{.*}} : <tensor
  nvgpu.tma.prefetch.descriptor %map, predicate = %p : !plain
  // CHECK: nvgpu.tma.fence.descriptor %[[M]] : <tensor
  nvgpu.tma.fence.descriptor %map : !plain
  return
}

// Elements of which a map has bytes: f8; and tf32, whose tensor is f32.
// CHECK-LABEL: func @elements
func.func @elements(%bytes: memref<*xf8E4M3FN>, %floats: memref<*xf32>, %g: !old_group, %to: memref<32xf32, 3>, %n: index) {
  %0 = nvgpu.tma.create.descriptor %bytes box[%n] : memref<*xf8E4M3FN>
    -> !nvgpu.tensormap.descriptor<tensor = memref<256xf8E4M3FN, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  %1 = nvgpu.tma.create.descriptor %floats box[%n] : memref<*xf32>
    -> !nvgpu.tensormap.descriptor<tensor = memref<32xtf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = nan, interleave = none>
  nvgpu.tma.async.load %1[%n], %g to %to
    : !nvgpu.tensormap.descriptor<tensor = memref<32xtf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = nan, interleave = none>,
      !old_group -> memref<32xf32, 3>
  return
}

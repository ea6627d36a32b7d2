// RUN: lemma-opt %s --verify-diagnostics --split-input-file

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @which_mbarrier(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{which of the group's 2 mbarriers?}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 1>
func.func @mbarrier_in_global_memory(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{mbarriers lie in shared memory}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @map_of_global_memory(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{the tensor of a tensor map is a box in shared memory (#gpu.address_space<workgroup> or 3), not 'memref<64x64xf16>'}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<?x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @unknown_box(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{a box has known extents, and its memref is strided; the tensor map's is 'memref<?x64xf16, 3>'}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @folded_box(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{a box has known extents, and its memref is strided}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xi4, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @i4(%m: !map, %g: !group, %to: memref<64x64xi4, 3>, %i: index) {
  // expected-error@+1 {{tensor maps have no element type 'i4'; legal: integers and floats of 8, 16, 32 and 64 bits, and tf32}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xi4, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x1x1x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @rank_6(%m: !map, %g: !group, %to: memref<64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): dims has 6 entries: a tensor has 1 to 5 dimensions}}
  nvgpu.tma.async.load %m[%i, %i, %i, %i, %i, %i], %g to %to : !map, !group -> memref<64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<f16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @rank_0(%m: !map, %g: !group, %to: memref<f16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): dims has 0 entries}}
  nvgpu.tma.async.load %m[], %g to %to : !map, !group -> memref<f16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<257x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @box_257(%m: !map, %g: !group, %to: memref<257x64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[1] is 257: legal are 1 to 256}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<257x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x4xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @inner_8_bytes(%m: !map, %g: !group, %to: memref<64x4xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[0] takes 8 bytes: legal are multiples of 16}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x4xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @wider_than_swizzle(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[0] takes 128 bytes, more than the 64 of the swizzle}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xi16, 3>, swizzle = none, l2promo = none, oob = nan, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @nan_of_integers(%m: !map, %g: !group, %to: memref<64x64xi16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): oob_fill nan needs a floating-point type, not u16}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xi16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @interleaved_plane(%m: !map, %g: !group, %to: memref<8x16xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): an interleaved tensor has 3 dimensions or more, not 2}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<8x16xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @to_global_memory(%m: !map, %g: !group, %to: memref<64x64xf16>, %i: index) {
  // expected-error@+1 {{the destination is shared memory (#gpu.address_space<workgroup> or 3), not 'memref<64x64xf16>'}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xf16>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @elements(%m: !map, %g: !group, %to: memref<64x64xbf16, 3>, %i: index) {
  // expected-error@+1 {{element types differ: 'bf16' in the destination, 'f16' in the tensor map}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x64xbf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @too_small(%m: !map, %g: !group, %to: memref<64x32xf16, 3>, %i: index) {
  // expected-error@+1 {{copies the tensor map's box of 4096 elements, 'memref<64x64xf16, 3>', but the destination has 2048, 'memref<64x32xf16, 3>'}}
  nvgpu.tma.async.load %m[%i, %i], %g to %to : !map, !group -> memref<64x32xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @coordinates(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{has 1 coordinates for a tensor map of rank 2; legal: one for each dimension, the innermost first}}
  nvgpu.tma.async.load %m[%i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @offsets(%m: !map, %g: !group, %to: memref<1x1x64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{has 1 im2col offsets for a tensor map of rank 4; legal: 2, one for each dimension but batch and channels}}
  nvgpu.tma.async.load %m[%i, %i, %i, %i] im2col [%i], %g to %to : !map, !group -> memref<1x1x64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @im2col_plane(%m: !map, %g: !group, %to: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): an im2col tensor has 3 to 5 dimensions, not 2}}
  nvgpu.tma.async.load %m[%i, %i] im2col [%i], %g to %to : !map, !group -> memref<64x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x3x512x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @im2col_pixels(%m: !map, %g: !group, %to: memref<1x3x512x64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): pixels_per_column is 1536: legal are 1 to 1024}}
  nvgpu.tma.async.load %m[%i, %i, %i, %i] im2col [%i, %i], %g to %to : !map, !group -> memref<1x3x512x64xf16, 3>
  return
}

// -----

// Legal in im2col mode.
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x512x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!group = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @box_of_512(%m: !map, %g: !group, %to: memref<512x64xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[1] is 512: legal are 1 to 256}}
  nvgpu.tma.async.load %m[%i, %i, %i, %i], %g to %to : !map, !group -> memref<512x64xf16, 3>
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @from_global_memory(%m: !map, %from: memref<64x64xf16>, %i: index) {
  // expected-error@+1 {{the source is shared memory (#gpu.address_space<workgroup> or 3), not 'memref<64x64xf16>'}}
  nvgpu.tma.async.store %from to %m[%i, %i] : memref<64x64xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @store_elements(%m: !map, %from: memref<64x64xbf16, 3>, %i: index) {
  // expected-error@+1 {{element types differ: 'bf16' in the source, 'f16' in the tensor map}}
  nvgpu.tma.async.store %from to %m[%i, %i] : memref<64x64xbf16, 3> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @store_too_much(%m: !map, %from: memref<64x32xf16, 3>, %i: index) {
  // expected-error@+1 {{but the source has 2048}}
  nvgpu.tma.async.store %from to %m[%i, %i] : memref<64x32xf16, 3> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @store_coordinates(%m: !map, %from: memref<64x64xf16, 3>, %i: index) {
  // expected-error@+1 {{has 3 coordinates for a tensor map of rank 2}}
  nvgpu.tma.async.store %from to %m[%i, %i, %i] : memref<64x64xf16, 3> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x4xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @store_map(%m: !map, %from: memref<64x4xf16, 3>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[0] takes 8 bytes: legal are multiples of 16}}
  nvgpu.tma.async.store %from to %m[%i, %i] : memref<64x4xf16, 3> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<300x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @create_map(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): box[1] is 300: legal are 1 to 256}}
  %0 = nvgpu.tma.create.descriptor %t box[%i, %i] : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @create_elements(%t: memref<*xf32>, %i: index) {
  // expected-error@+1 {{element types differ: 'f32' in the tensor, 'f16' in the tensor map}}
  %0 = nvgpu.tma.create.descriptor %t box[%i, %i] : memref<*xf32> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @create_box(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{has 1 box dimensions for a tensor map of rank 2; legal: one for each dimension, the outermost first}}
  %0 = nvgpu.tma.create.descriptor %t box[%i] : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @im2col_box(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{has 4 box dimensions, but an im2col map has no box; legal: box[]}}
  %0 = nvgpu.tma.create.descriptor %t box[%i, %i, %i, %i] {pixelBoxLower = array<i32: 0, 0>, pixelBoxUpper = array<i32: 0, 0>, channelsPerPixel = 64 : i32, pixelsPerColumn = 64 : i32} : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @im2col_attributes(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{an im2col map has pixelBoxLower, pixelBoxUpper, channelsPerPixel and pixelsPerColumn; missing: channelsPerPixel}}
  %0 = nvgpu.tma.create.descriptor %t box[] {pixelBoxLower = array<i32: 0, 0>, pixelBoxUpper = array<i32: 0, 0>, pixelsPerColumn = 64 : i32} : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @im2col_corners(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): im2col upper has 1 entries: a tensor of 4 dimensions has 2 spatial ones}}
  %0 = nvgpu.tma.create.descriptor %t box[] {pixelBoxLower = array<i32: 0, 0>, pixelBoxUpper = array<i32: 0>, channelsPerPixel = 64 : i32, pixelsPerColumn = 64 : i32} : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @im2col_far(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{no tensor map is like that (dimensions counted from the innermost): im2col lower has -129: legal with 2 spatial dimensions are -128 to 127}}
  %0 = nvgpu.tma.create.descriptor %t box[] {pixelBoxLower = array<i32: 0, -129>, pixelBoxUpper = array<i32: 0, 0>, channelsPerPixel = 64 : i32, pixelsPerColumn = 64 : i32} : memref<*xf16> -> !map
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @im2col_channels(%t: memref<*xf16>, %i: index) {
  // expected-error@+1 {{moves 64 pixels of 32 channels, but the tensor map's type 'memref<1x1x64x64xf16, 3>' has 64 of 64}}
  %0 = nvgpu.tma.create.descriptor %t box[] {pixelBoxLower = array<i32: 0, 0>, pixelBoxUpper = array<i32: 0, 0>, channelsPerPixel = 32 : i32, pixelsPerColumn = 64 : i32} : memref<*xf16> -> !map
  return
}

// -----

func.func @box_of_other_extents(%u: memref<*xf16>) {
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // expected-error@+1 {{has 16 for dimension 0 of its box, but the tensor map's type 'memref<8x64xf16, 3>' has 8; legal: what the type says}}
  %m = nvgpu.tma.create.descriptor %u box[%c16, %c64] : memref<*xf16> -> !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  return
}

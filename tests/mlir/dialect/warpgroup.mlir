// RUN: lemma-opt %s | FileCheck %s
// RUN: lemma-opt %s | lemma-opt | FileCheck %s
//
// What the warpgroup's operations take, in both spellings, and that they print as LLVM 22 does.

!map_a = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!map_b = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
!half = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

// CHECK-LABEL: @newer
func.func @newer(%a: memref<128x64xf16, 3>, %b: memref<64x128xf16, 3>, %map_a: !map_a, %map_b: !map_b,
                 %d: memref<128x128xf32, strided<[?, 1], offset: ?>>) {
  // CHECK: nvgpu.warpgroup.generate.descriptor %{{.*}}, %{{.*}} : memref<128x64xf16, 3>, <tensor = memref<128x64xf16, 3>, {{.*}}> -> <tensor = memref<128x64xf16, 3>>
  %da = nvgpu.warpgroup.generate.descriptor %a, %map_a : memref<128x64xf16, 3>, !map_a -> !a
  %db = nvgpu.warpgroup.generate.descriptor %b, %map_b : memref<64x128xf16, 3>, !map_b -> !b
  // CHECK: nvgpu.warpgroup.mma.init.accumulator -> <fragmented = vector<128x128xf32>>
  %c = nvgpu.warpgroup.mma.init.accumulator -> !acc
  // CHECK: nvgpu.warpgroup.mma %{{.*}}, %{{.*}}, %{{.*}} {transposeB, waitGroup = 1 : i64} : <tensor = memref<128x64xf16, 3>>, <tensor = memref<64x128xf16, 3>>, <fragmented = vector<128x128xf32>> -> <fragmented = vector<128x128xf32>>
  %sum = nvgpu.warpgroup.mma %da, %db, %c {transposeB, waitGroup = 1 : i64} : !a, !b, !acc -> !acc
  // CHECK: nvgpu.warpgroup.mma.store %{{.*}}, %{{.*}} : <fragmented = vector<128x128xf32>> to memref<128x128xf32, strided<[?, 1], offset: ?>>
  nvgpu.warpgroup.mma.store %sum, %d : !acc to memref<128x128xf32, strided<[?, 1], offset: ?>>
  return
}

// The names of 2023, and accumulators that share M.
// CHECK-LABEL: @older
func.func @older(%a: memref<128x64xf16, 3>, %map_a: !map_a, %b: !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>,
                 %c0: !half, %c1: !half) -> (!half, !half) {
  // CHECK: nvgpu.warpgroup.generate.descriptor
  %da = nvgpu.wgmma.generate.descriptor %a, %map_a
    : memref<128x64xf16, 3>, !map_a -> !nvgpu.wgmma.descriptor<tensor = memref<128x64xf16, 3>>
  // CHECK: %{{.*}}:2 = nvgpu.warpgroup.mma %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {waitGroup = 0 : i32}
  %d:2 = nvgpu.warpgroup.mma %da, %b, %c0, %c1 {waitGroup = 0 : i32}
    : !nvgpu.wgmma.descriptor<tensor = memref<128x64xf16, 3>>, !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>,
      !half, !half -> !half, !half
  return %d#0, %d#1 : !half, !half
}

// Types of descriptors are the product's, or those of memory; a type may say the swizzle.
// CHECK-LABEL: @descriptors
func.func @descriptors(%a_kxm: !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>,
                       %b_nxk: !nvgpu.warpgroup.descriptor<tensor = memref<8x64xbf16, 3>, swizzle = swizzle_64b>,
                       %c: !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>) {
  // CHECK: nvgpu.warpgroup.mma %{{.*}} {transposeA} : <tensor = memref<64x128xbf16, 3>>, <tensor = memref<8x64xbf16, 3>, swizzle = swizzle_64b>,
  %d = nvgpu.warpgroup.mma %a_kxm, %b_nxk, %c {transposeA}
    : !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>,
      !nvgpu.warpgroup.descriptor<tensor = memref<8x64xbf16, 3>, swizzle = swizzle_64b>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
    -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x8xf32>>
  return
}

// Element types that only Lemma has; A in registers.
// CHECK-LABEL: @types
func.func @types(%a8: !nvgpu.warpgroup.descriptor<tensor = memref<64x32xui8, 3>>,
                 %b8: !nvgpu.warpgroup.descriptor<tensor = memref<32x24xi8, 3>>,
                 %a1: vector<8x32xi1>, %b1: !nvgpu.warpgroup.descriptor<tensor = memref<512x16xi1, 3>>,
                 %af: vector<4x4xf8E4M3FN>, %bf: !nvgpu.warpgroup.descriptor<tensor = memref<32x16xf8E5M2, 3>>,
                 %at: vector<4x1xf32>, %bt: !nvgpu.warpgroup.descriptor<tensor = memref<8x16xtf32, 3>>,
                 %i24: !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>>,
                 %i16: !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xi32>>,
                 %f16: !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf16>>,
                 %f32: !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>>) {
  // CHECK: nvgpu.warpgroup.mma %{{.*}} {satfinite}
  %0 = nvgpu.warpgroup.mma %a8, %b8, %i24 {satfinite}
    : !nvgpu.warpgroup.descriptor<tensor = memref<64x32xui8, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<32x24xi8, 3>>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x24xi32>>
  // CHECK: nvgpu.warpgroup.mma {{.*}} : vector<8x32xi1>,
  %1 = nvgpu.warpgroup.mma %a1, %b1, %i16
    : vector<8x32xi1>, !nvgpu.warpgroup.descriptor<tensor = memref<512x16xi1, 3>>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xi32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xi32>>
  // CHECK: nvgpu.warpgroup.mma {{.*}} {negateA, negateB, scaleD = false}
  %2 = nvgpu.warpgroup.mma %af, %bf, %f16 {negateA, negateB, scaleD = false}
    : vector<4x4xf8E4M3FN>, !nvgpu.warpgroup.descriptor<tensor = memref<32x16xf8E5M2, 3>>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf16>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf16>>
  // CHECK: nvgpu.warpgroup.mma {{.*}} : vector<4x1xf32>,
  %3 = nvgpu.warpgroup.mma %at, %bt, %f32
    : vector<4x1xf32>, !nvgpu.warpgroup.descriptor<tensor = memref<8x16xtf32, 3>>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>>
  return
}

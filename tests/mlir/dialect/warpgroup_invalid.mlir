// RUN: lemma-opt %s --verify-diagnostics --split-input-file
//
// What the warpgroup's operations refuse, and what they say is legal.

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x12xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x12xf32>>
func.func @columns(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{an accumulator's N is a multiple of 8; this one is 'vector<64x12xf32>'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x264xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x264xf32>>
func.func @too_many_columns(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{N is 264 (the accumulator's columns); legal for f16 x f16 -> f32: 8 to 256 in steps of 8}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x40xi8, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x40xi32>>
func.func @columns_of_integers(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{N is 40 (the accumulator's columns); legal for s8 x s8 -> s32: 8, 24, and 16 to 256 in steps of 16}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<96x128xf32>>
func.func @rows(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{an accumulator is M x N, M a multiple of 64; this one is 'vector<96x128xf32>'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xbf16>>
func.func @accumulator_type(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{an accumulator has elements of f32, f16 or i32; this one is 'vector<64x128xbf16>'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @types(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{a warpgroup does not multiply 'f16' x 'bf16' -> 'f32'; legal: f16 x f16 -> f32, f16 x f16 -> f16, bf16 x bf16 -> f32}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf16>>
func.func @bf16_to_f16(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{a warpgroup does not multiply 'bf16' x 'bf16' -> 'f16'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf64, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf64, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @f64(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{a warpgroup does not multiply 'f64' x 'f64' -> 'f32'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xi16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @elements(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{no matrix has elements of 'i16'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
!d = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>
func.func @results(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{yields accumulators of other types than it takes}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !d
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x24xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<24x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @depth(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{K is 24; for 'f16' it is a multiple of 16}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xi1, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<128x128xi1, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xi32>>
func.func @depth_of_bits(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{K is 128; for 'i1' it is a multiple of 256}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @depths_differ(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{matrix A is 'memref<64x32xf16, 3>', but the accumulators have 64 rows and B has K = 64: A is 64x64}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @rows_differ(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{matrix A is 'memref<128x64xf16, 3>', but the accumulators have 64 rows}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @columns_differ(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{N is 128 (the accumulator's columns), but matrix B is 'memref<64x64xf16, 3>'; it is K x N, or N x K as it lies in memory}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

// A transposed B lies as K x N.
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @columns_differ_transposed(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{but matrix B is 'memref<128x64xf16, 3>'; it is K x N}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf8E4M3FN, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf8E4M3FN, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @transposed_bytes(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{transposes multiplicands of 16 bits only; these are 'f8E4M3FN' and 'f8E4M3FN', which lie K-major in memory: A as M x K, B as N x K rows}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !c -> !c
  return
}

// -----

!a = vector<16x2xf16>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @transposed_registers(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{transposeA is for a matrix in shared memory; A is in registers}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {transposeA} : !a, !b, !c -> !c
  return
}

// -----

!a = vector<4x2xf16>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @registers(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{matrix A is 'vector<4x2xf16>', but a thread's part of 64 x 64 is 'vector<16x2xf16>': a row for each 32-bit register, 4 for each 64 rows of M and 16 of K}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @saturated_floats(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{satfinite is for products of s8 and u8; this one is of f16}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {satfinite} : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x256xi1, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<256x128xi1, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xi32>>
func.func @saturated_bits(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{satfinite is for products of s8 and u8; this one is of b1}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {satfinite} : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xi8, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<32x128xi8, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xi32>>
func.func @negated_integers(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{negateA and negateB are for floating point; this product is of s8}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {negateB} : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @pending(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{waitGroup is -1; it is 0 or more}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {waitGroup = -1 : i32} : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<2x64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @rank(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{a matrix descriptor's tensor has two static dimensions; this one is 'memref<2x64x64xf16, 3>'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x?xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @dynamic(%a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{a matrix descriptor's tensor has two static dimensions; this one is 'memref<64x?xf16, 3>'}}
  %d = nvgpu.warpgroup.mma %a, %b, %c : !a, !b, !c -> !c
  return
}

// -----

!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
!c2 = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @accumulators_differ(%a: !a, %b: !b, %c: !c, %c2: !c2) {
  // expected-error@+1 {{has accumulators of different types: '!nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>' and '!nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>'; they share M equally}}
  %d:2 = nvgpu.warpgroup.mma %a, %b, %c, %c2 : !a, !b, !c, !c2 -> !c, !c2
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
func.func @global_memory(%m: memref<64x64xf16>, %map: !map) {
  // expected-error@+1 {{describes shared memory (#gpu.address_space<workgroup> or 3); the memref is 'memref<64x64xf16>'}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x128xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
func.func @wide_box(%m: memref<64x128xf16, 3>, %map: !map) {
  // expected-error@+1 {{the rows of the tensor map's box, 'memref<64x128xf16, 3>', have 256 bytes; a matrix descriptor wants 128 with swizzle = swizzle_128b: 64 elements of 'f16'}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x128xf16, 3>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
func.func @box_without_swizzle(%m: memref<64x64xf16, 3>, %map: !map) {
  // expected-error@+1 {{have 128 bytes; a matrix descriptor wants 16 with swizzle = none: 8 elements of 'f16'}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16, 3>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
func.func @interleaved(%m: memref<64x64xf16, 3>, %map: !map) {
  // expected-error@+1 {{no matrix descriptor names the boxes of an interleaved tensor map (interleave_16b); legal: none}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16, 3>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
func.func @box_of_one_dimension(%m: memref<64x64xf16, 3>, %map: !map) {
  // expected-error@+1 {{the tensor map's box has two or more static dimensions; this one is 'memref<64xf16, 3>'}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16, 3>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
func.func @widths(%m: memref<64x64xf16, 3>, %map: !map) {
  // expected-error@+1 {{element types differ: 'f16' in memory, 'f32' in the tensor map, 'f16' in the descriptor}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16, 3>, !map -> !d
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!d = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_64b>
func.func @stated_swizzle(%m: memref<64x64xf16, 3>, %map: !map) {
  // expected-error@+1 {{the descriptor's type says swizzle_64b, the tensor map swizzle_128b}}
  %d = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x64xf16, 3>, !map -> !d
  return
}

// -----

// Two boxes side by side make up 64 x 128; what lies below them is not in the tile.
!map = !nvgpu.tensormap.descriptor<tensor = memref<32x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
!b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
func.func @short_boxes(%m: memref<64x128xf16, 3>, %map: !map, %a: !a, %c: !c) {
  %b = nvgpu.warpgroup.generate.descriptor %m, %map : memref<64x128xf16, 3>, !map -> !b
  // expected-error@+1 {{matrix B lies in memory as 64 rows of 256 bytes, in boxes side by side; a box has only 32 rows, so that where the next rows are is not known}}
  %d = nvgpu.warpgroup.mma %a, %b, %c {transposeB} : !a, !b, !c -> !c
  return
}

// -----

!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
func.func @converting_store(%c: !c, %m: memref<64x8xf16>) {
  // expected-error@+1 {{stores elements of 'f32' as they are; the memref is 'memref<64x8xf16>'}}
  nvgpu.warpgroup.mma.store %c, %m : !c to memref<64x8xf16>
  return
}

// -----

!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
func.func @store_of_other_rows(%c: !c, %m: memref<128x8xf32>) {
  // expected-error@+1 {{stores an accumulator of 64x8; the memref is 'memref<128x8xf32>'}}
  nvgpu.warpgroup.mma.store %c, %m : !c to memref<128x8xf32>
  return
}

// -----

!c = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
func.func @store_of_three_dimensions(%c: !c, %m: memref<1x64x8xf32>) {
  // expected-error@+1 {{stores an accumulator of 64x8; the memref is 'memref<1x64x8xf32>'}}
  nvgpu.warpgroup.mma.store %c, %m : !c to memref<1x64x8xf32>
  return
}

// -----

func.func @zeros() {
  // expected-error@+1 {{an accumulator is M x N, M a multiple of 64; this one is 'vector<16x8xf32>'}}
  %c = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<16x8xf32>>
  return
}

// -----

!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @extract_pending(%c: !sum) {
  // expected-error@+1 {{takes elements out of an accumulator to which products may still be added; legal: the result of nvgpu.warpgroup.mma.wait}}
  %v = nvgpu.warpgroup.mma.extract %c[0, 0] : !sum -> vector<4x2xf32>
  return
}

// -----

!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @extract_too_far(%c: !sum) {
  %d = nvgpu.warpgroup.mma.wait %c : !sum
  // expected-error@+1 {{takes 16 columns from 56 on; legal: from a multiple of 8 on, of an accumulator of 64 columns}}
  %v = nvgpu.warpgroup.mma.extract %d[0, 56] : !sum -> vector<4x2xf32>
  return
}

// -----

!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @extract_row(%c: !sum) {
  %d = nvgpu.warpgroup.mma.wait %c : !sum
  // expected-error@+1 {{begins at row 16; legal: multiples of 64 below 64}}
  %v = nvgpu.warpgroup.mma.extract %d[16, 0] : !sum -> vector<4x2xf32>
  return
}

// -----

!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @extract_vector(%c: !sum) {
  %d = nvgpu.warpgroup.mma.wait %c : !sum
  // expected-error@+1 {{yields two rows of two elements for each 8 columns, such as 'vector<4x2xf32>' of 16 columns, not 'vector<8xf32>'}}
  %v = nvgpu.warpgroup.mma.extract %d[0, 0] : !sum -> vector<8xf32>
  return
}

// -----

!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
func.func @wait_groups(%c: !sum) {
  // expected-error@+1 {{waitGroup is -1; it is 0 or more}}
  %d = nvgpu.warpgroup.mma.wait %c {waitGroup = -1 : i64} : !sum
  return
}

// -----

func.func @stmatrix_rows(%v: vector<3x2xf16>, %m: memref<16x64xf16, 3>, %i: index) {
  // expected-error@+1 {{the vector has 3 rows, one for each matrix; legal: 1, 2, 4}}
  nvgpu.stmatrix %v, %m[%i, %i] : vector<3x2xf16>, memref<16x64xf16, 3>
  return
}

// -----

func.func @stmatrix_global(%v: vector<4x2xf16>, %m: memref<16x64xf16>, %i: index) {
  // expected-error@+1 {{writes shared memory (#gpu.address_space<workgroup> or 3); the memref is 'memref<16x64xf16>'}}
  nvgpu.stmatrix %v, %m[%i, %i] : vector<4x2xf16>, memref<16x64xf16>
  return
}

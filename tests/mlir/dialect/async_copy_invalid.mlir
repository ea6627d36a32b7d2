// RUN: lemma-opt %s --verify-diagnostics --split-input-file

func.func @to_global(%src: memref<16xf32>, %dst: memref<16xf32>, %i: index) {
  // expected-error@+1 {{writes shared memory (#gpu.address_space<workgroup> or 3); the destination is 'memref<16xf32>'}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<16xf32> to memref<16xf32>
  return
}

// -----

func.func @from_shared(%src: memref<16xf32, 3>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{reads global memory (#gpu.address_space<global>, 1 or none); the source is 'memref<16xf32, 3>'}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<16xf32, 3> to memref<16xf32, 3>
  return
}

// -----

func.func @elements(%src: memref<16xi32>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{element types differ: 'i32' in the source, 'f32' in the destination}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<16xi32> to memref<16xf32, 3>
  return
}

// -----

func.func @source_indices(%src: memref<4x16xf32>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{has 1 indices for the source, a memref of rank 2}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<4x16xf32> to memref<16xf32, 3>
  return
}

// -----

func.func @destination_indices(%src: memref<16xf32>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{has 2 indices for the destination, a memref of rank 1}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i, %i], 4 : memref<16xf32> to memref<16xf32, 3>
  return
}

// -----

func.func @strided_source(%src: memref<16xf32, strided<[2]>>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{the last dimension of the source has stride 2; legal: 1}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<16xf32, strided<[2]>> to memref<16xf32, 3>
  return
}

// -----

func.func @strided_destination(%src: memref<16xf32>, %dst: memref<16xf32, strided<[?]>, 3>, %i: index) {
  // expected-error@+1 {{the last dimension of the destination has a stride that is not known; legal: 1}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<16xf32> to memref<16xf32, strided<[?]>, 3>
  return
}

// -----

func.func @three(%src: memref<16xf32>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{copies 3 elements of 32 bits, 12 bytes; legal: 4, 8 and 16 bytes, dstElements of 1, 2, 4}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 3 : memref<16xf32> to memref<16xf32, 3>
  return
}

// -----

func.func @two_bytes(%src: memref<16xf16>, %dst: memref<16xf16, 3>, %i: index) {
  // expected-error@+1 {{copies 1 elements of 16 bits, 2 bytes; legal: 4, 8 and 16 bytes, dstElements of 2, 4, 8}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 1 : memref<16xf16> to memref<16xf16, 3>
  return
}

// -----

func.func @bypass(%src: memref<16xf32>, %dst: memref<16xf32, 3>, %i: index) {
  // expected-error@+1 {{copies 2 elements of 32 bits, 8 bytes; legal with bypassL1: 16 bytes, dstElements of 4}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 2 {bypassL1} : memref<16xf32> to memref<16xf32, 3>
  return
}

// -----

func.func @wide(%src: memref<16xvector<8xf32>>, %dst: memref<16xvector<8xf32>, 3>, %i: index) {
  // expected-error@+1 {{copies 1 elements of 256 bits, 32 bytes; legal: 4, 8 and 16 bytes}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 1 : memref<16xvector<8xf32>> to memref<16xvector<8xf32>, 3>
  return
}

// -----

func.func @indices_of_the_machine(%src: memref<16xindex>, %dst: memref<16xindex, 3>, %i: index) {
  // expected-error@+1 {{does not copy elements of 'index'}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 1 : memref<16xindex> to memref<16xindex, 3>
  return
}

// -----

func.func @nibbles(%src: memref<64xi4>, %dst: memref<64xi4, 3>, %i: index) {
  // expected-error@+1 {{copies 4 elements of 4 bits, 2 bytes; legal: 4, 8 and 16 bytes, dstElements of 8, 16, 32}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 4 : memref<64xi4> to memref<64xi4, 3>
  return
}

// -----

func.func @odd(%src: memref<64xi2>, %dst: memref<64xi2, 3>, %i: index) {
  // expected-error@+1 {{does not copy elements of 'i2'; legal: integers, floats and vectors of them, of whole bytes or of 4 bits}}
  %0 = nvgpu.device_async_copy %src[%i], %dst[%i], 32 : memref<64xi2> to memref<64xi2, 3>
  return
}

// -----

func.func @wait() {
  %g = nvgpu.device_async_create_group
  // expected-error@+1 {{numGroups is -1; legal: 0 and up}}
  nvgpu.device_async_wait %g {numGroups = -1 : i32}
  return
}

// RUN: lemma-opt %s --pass-pipeline="builtin.module(gpu.module(lower-nvgpu-device))" --verify-diagnostics --split-input-file
//
// What gpu.subgroup_mma_* may say but PTX does not have; each with what is legal.

gpu.module @shape_of_load {
  gpu.func @kernel(%p: memref<64x64xf16>) kernel {
    %i = arith.constant 0 : index
    // expected-error@+1 {{loads '!gpu.mma_matrix<16x8xf16, "AOp">', which no wmma.load does; legal: "AOp" of 16x16xf16, 8x16xf16, 32x16xf16, 16x16xsi8}}
    %a = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf16> -> !gpu.mma_matrix<16x8xf16, "AOp">
    gpu.return
  }
}

// -----

gpu.module @type_of_load {
  gpu.func @kernel(%p: memref<64x64xi32>) kernel {
    %i = arith.constant 0 : index
    // expected-error@+1 {{loads '!gpu.mma_matrix<16x16xi32, "BOp">', which no wmma.load does; legal: "BOp" of 16x16xf16}}
    %b = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xi32> -> !gpu.mma_matrix<16x16xi32, "BOp">
    gpu.return
  }
}

// -----

gpu.module @shape_of_store {
  gpu.func @kernel(%p: memref<64x64xf64>, %x: f32) kernel {
    %i = arith.constant 0 : index
    // expected-error@+1 {{loads '!gpu.mma_matrix<16x16xf64, "COp">', which no wmma.load does}}
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf64> -> !gpu.mma_matrix<16x16xf64, "COp">
    gpu.subgroup_mma_store_matrix %c, %p[%i, %i] {leadDimension = 64 : index} : !gpu.mma_matrix<16x16xf64, "COp">, memref<64x64xf64>
    gpu.return
  }
}

// -----

gpu.module @constant_of_no_shape {
  gpu.func @kernel(%p: memref<64x64xf32>, %x: f32) kernel {
    %i = arith.constant 0 : index
    %c = gpu.subgroup_mma_constant_matrix %x : !gpu.mma_matrix<8x8xf32, "COp">
    // expected-error@+1 {{stores '!gpu.mma_matrix<8x8xf32, "COp">', which no wmma.store does; legal: "COp" of 16x16xf16, 8x32xf16}}
    gpu.subgroup_mma_store_matrix %c, %p[%i, %i] {leadDimension = 64 : index} : !gpu.mma_matrix<8x8xf32, "COp">, memref<64x64xf32>
    gpu.return
  }
}

// -----

!a = !gpu.mma_matrix<16x16xf16, "AOp">
!b = !gpu.mma_matrix<16x16xf16, "BOp">
!c = !gpu.mma_matrix<16x16xi32, "COp">
gpu.module @product {
  gpu.func @kernel(%p: memref<64x64xf16>, %q: memref<64x64xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf16> -> !a
    %b = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf16> -> !b
    %c = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 64 : index} : memref<64x64xi32> -> !c
    // expected-error@+1 {{multiplies m16n16k16 'f16', 'f16' -> 'i32', which no wmma.mma does; legal: m16n16k16 f16 -> f16}}
    %d = gpu.subgroup_mma_compute %a, %b, %c : !a, !b -> !c
    gpu.return
  }
}

// -----

!a = !gpu.mma_matrix<16x16xsi8, "AOp">
!b = !gpu.mma_matrix<16x16xui8, "BOp">
!c = !gpu.mma_matrix<16x16xi32, "COp">
gpu.module @signs {
  gpu.func @kernel(%p: memref<64x64xi8>, %q: memref<64x64xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xi8> -> !a
    %b = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xi8> -> !b
    %c = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 64 : index} : memref<64x64xi32> -> !c
    // expected-error@+1 {{multiplies m16n16k16 'si8', 'ui8' -> 'i32', which no wmma.mma does}}
    %d = gpu.subgroup_mma_compute %a, %b, %c : !a, !b -> !c
    gpu.return
  }
}

// -----

!c = !gpu.mma_matrix<16x16xf32, "COp">
gpu.module @elementwise {
  gpu.func @kernel(%p: memref<64x64xf32>) kernel {
    %i = arith.constant 0 : index
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf32> -> !c
    // expected-error@+1 {{has no addi of 'f32'; legal: addf, subf, mulf, divf, maxf, minf, negatef}}
    %d = gpu.subgroup_mma_elementwise addi %c, %c : (!c, !c) -> !c
    gpu.subgroup_mma_store_matrix %d, %p[%i, %i] {leadDimension = 64 : index} : !c, memref<64x64xf32>
    gpu.return
  }
}

// -----

!c = !gpu.mma_matrix<16x16xi32, "COp">
gpu.module @elementwise_of_integers {
  gpu.func @kernel(%p: memref<64x64xi32>) kernel {
    %i = arith.constant 0 : index
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xi32> -> !c
    // expected-error@+1 {{has no negatef of 'i32'; legal: addi, subi, muli, divs, divu, negates}}
    %d = gpu.subgroup_mma_elementwise negatef %c : (!c) -> !c
    gpu.subgroup_mma_store_matrix %d, %p[%i, %i] {leadDimension = 64 : index} : !c, memref<64x64xi32>
    gpu.return
  }
}

// -----

!c = !gpu.mma_matrix<16x16xf32, "COp">
gpu.module @operands {
  gpu.func @kernel(%p: memref<64x64xf32>) kernel {
    %i = arith.constant 0 : index
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf32> -> !c
    // expected-error@+1 {{addf takes two matrices}}
    %d = gpu.subgroup_mma_elementwise addf %c : (!c) -> !c
    gpu.subgroup_mma_store_matrix %d, %p[%i, %i] {leadDimension = 64 : index} : !c, memref<64x64xf32>
    gpu.return
  }
}

// -----

!a = !gpu.mma_matrix<16x16xf16, "AOp">
!c = !gpu.mma_matrix<16x16xf32, "COp">
gpu.module @extend {
  gpu.func @kernel(%p: memref<64x64xf16>, %q: memref<64x64xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf16> -> !a
    // expected-error@+1 {{legal: "COp" of f16 to "COp" of f32 of the same shape}}
    %c = gpu.subgroup_mma_elementwise extf %a : (!a) -> !c
    gpu.subgroup_mma_store_matrix %c, %q[%i, %i] {leadDimension = 64 : index} : !c, memref<64x64xf32>
    gpu.return
  }
}

// -----

!c = !gpu.mma_matrix<16x16xf32, "COp">
gpu.module @indices {
  gpu.func @kernel(%p: memref<64x64xf32>) kernel {
    %i = arith.constant 0 : index
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 64 : index} : memref<64x64xf32> -> !c
    // expected-error@+1 {{has 2 indices; legal: one}}
    %x = gpu.subgroup_mma_extract_thread_local %c[%i, %i] : !c -> f32
    memref.store %x, %p[%i, %i] : memref<64x64xf32>
    gpu.return
  }
}

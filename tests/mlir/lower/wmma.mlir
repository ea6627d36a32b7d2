// gpu.subgroup_mma_* as PTX: products of every type and shape, transposed matrices, leading dimensions; the operations on
// fragments that MLIR's own patterns do not have.
// RUN: lemma compile %s -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx
// RUN: %ptxas -arch=sm_90a %t.ptx

gpu.module @wmma {
  // CHECK-LABEL: .entry f16_f16_m16n16k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.f16
  gpu.func @f16_f16_m16n16k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf16>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<16x16xf16, "COp">, memref<64x56xf16>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_f32_m16n16k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.f32
  gpu.func @f16_f32_m16n16k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry si8_i32_m16n16k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m16n16k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m16n16k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.s8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.s32
  gpu.func @si8_i32_m16n16k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<16x16xsi8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x16xsi8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<16x16xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xsi8, "AOp">, !gpu.mma_matrix<16x16xsi8, "BOp"> -> !gpu.mma_matrix<16x16xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<16x16xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry ui8_i32_m16n16k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m16n16k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m16n16k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k16.s32.u8.u8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.s32
  gpu.func @ui8_i32_m16n16k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<16x16xui8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x16xui8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<16x16xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xui8, "AOp">, !gpu.mma_matrix<16x16xui8, "BOp"> -> !gpu.mma_matrix<16x16xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<16x16xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_f16_m32n8k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m32n8k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m32n8k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m32n8k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m32n8k16.f16.f16
  // CHECK: wmma.store.d.sync.aligned.row.m32n8k16{{(.global)?}}.f16
  gpu.func @f16_f16_m32n8k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf16>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<32x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x8xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf16> -> !gpu.mma_matrix<32x8xf16, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<32x16xf16, "AOp">, !gpu.mma_matrix<16x8xf16, "BOp"> -> !gpu.mma_matrix<32x8xf16, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<32x8xf16, "COp">, memref<64x56xf16>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_f32_m32n8k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m32n8k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m32n8k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m32n8k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m32n8k16.f32.f32
  // CHECK: wmma.store.d.sync.aligned.row.m32n8k16{{(.global)?}}.f32
  gpu.func @f16_f32_m32n8k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<32x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x8xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf32> -> !gpu.mma_matrix<32x8xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<32x16xf16, "AOp">, !gpu.mma_matrix<16x8xf16, "BOp"> -> !gpu.mma_matrix<32x8xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<32x8xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry si8_i32_m32n8k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m32n8k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m32n8k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m32n8k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m32n8k16.s32.s8.s8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m32n8k16{{(.global)?}}.s32
  gpu.func @si8_i32_m32n8k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<32x16xsi8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x8xsi8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<32x8xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<32x16xsi8, "AOp">, !gpu.mma_matrix<16x8xsi8, "BOp"> -> !gpu.mma_matrix<32x8xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<32x8xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry ui8_i32_m32n8k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m32n8k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m32n8k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m32n8k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m32n8k16.s32.u8.u8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m32n8k16{{(.global)?}}.s32
  gpu.func @ui8_i32_m32n8k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<32x16xui8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x8xui8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<32x8xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<32x16xui8, "AOp">, !gpu.mma_matrix<16x8xui8, "BOp"> -> !gpu.mma_matrix<32x8xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<32x8xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_f16_m8n32k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m8n32k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m8n32k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m8n32k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m8n32k16.f16.f16
  // CHECK: wmma.store.d.sync.aligned.row.m8n32k16{{(.global)?}}.f16
  gpu.func @f16_f16_m8n32k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf16>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<8x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x32xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf16> -> !gpu.mma_matrix<8x32xf16, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<8x16xf16, "AOp">, !gpu.mma_matrix<16x32xf16, "BOp"> -> !gpu.mma_matrix<8x32xf16, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<8x32xf16, "COp">, memref<64x56xf16>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_f32_m8n32k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m8n32k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m8n32k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m8n32k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m8n32k16.f32.f32
  // CHECK: wmma.store.d.sync.aligned.row.m8n32k16{{(.global)?}}.f32
  gpu.func @f16_f32_m8n32k16(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf16> -> !gpu.mma_matrix<8x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf16> -> !gpu.mma_matrix<16x32xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf32> -> !gpu.mma_matrix<8x32xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<8x16xf16, "AOp">, !gpu.mma_matrix<16x32xf16, "BOp"> -> !gpu.mma_matrix<8x32xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<8x32xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry si8_i32_m8n32k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m8n32k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m8n32k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m8n32k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m8n32k16.s32.s8.s8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m8n32k16{{(.global)?}}.s32
  gpu.func @si8_i32_m8n32k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<8x16xsi8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x32xsi8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<8x32xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<8x16xsi8, "AOp">, !gpu.mma_matrix<16x32xsi8, "BOp"> -> !gpu.mma_matrix<8x32xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<8x32xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry ui8_i32_m8n32k16(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m8n32k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m8n32k16{{(.global)?}}.u8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m8n32k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m8n32k16.s32.u8.u8.s32
  // CHECK: wmma.store.d.sync.aligned.row.m8n32k16{{(.global)?}}.s32
  gpu.func @ui8_i32_m8n32k16(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xi8> -> !gpu.mma_matrix<8x16xui8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xi8> -> !gpu.mma_matrix<16x32xui8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xi32> -> !gpu.mma_matrix<8x32xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<8x16xui8, "AOp">, !gpu.mma_matrix<16x32xui8, "BOp"> -> !gpu.mma_matrix<8x32xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<8x32xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry tf32(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m16n16k8{{(.global)?}}.tf32 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m16n16k8{{(.global)?}}.tf32 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.f32
  gpu.func @tf32(%pa: memref<64x40xf32>, %pb: memref<64x48xf32>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf32> -> !gpu.mma_matrix<16x8xf32, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf32> -> !gpu.mma_matrix<8x16xf32, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x8xf32, "AOp">, !gpu.mma_matrix<8x16xf32, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry f64(
  // CHECK-DAG: wmma.load.a.sync.aligned.row.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.row.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.row.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.row.row.m8n8k4{{(.rn)?}}.f64.f64.f64.f64
  // CHECK: wmma.store.d.sync.aligned.row.m8n8k4{{(.global)?}}.f64
  gpu.func @f64(%pa: memref<64x40xf64>, %pb: memref<64x48xf64>, %pc: memref<64x56xf64>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index} : memref<64x40xf64> -> !gpu.mma_matrix<8x4xf64, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index} : memref<64x48xf64> -> !gpu.mma_matrix<4x8xf64, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index} : memref<64x56xf64> -> !gpu.mma_matrix<8x8xf64, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<8x4xf64, "AOp">, !gpu.mma_matrix<4x8xf64, "BOp"> -> !gpu.mma_matrix<8x8xf64, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index} : !gpu.mma_matrix<8x8xf64, "COp">, memref<64x56xf64>
    gpu.return
  }
  // CHECK-LABEL: .entry f16_transposed(
  // CHECK-DAG: wmma.load.a.sync.aligned.col.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.col.m16n16k16{{(.global)?}}.f16 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.col.m16n16k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.col.col.m16n16k16.f32.f32
  // CHECK: wmma.store.d.sync.aligned.col.m16n16k16{{(.global)?}}.f32
  gpu.func @f16_transposed(%pa: memref<64x40xf16>, %pb: memref<64x48xf16>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index, transpose} : memref<64x40xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index, transpose} : memref<64x48xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index, transpose} : memref<64x56xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c {a_transpose, b_transpose} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index, transpose} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry si8_transposed(
  // CHECK-DAG: wmma.load.a.sync.aligned.col.m32n8k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.col.m32n8k16{{(.global)?}}.s8 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.col.m32n8k16{{(.global)?}}.s32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.col.col.m32n8k16.s32.s8.s8.s32
  // CHECK: wmma.store.d.sync.aligned.col.m32n8k16{{(.global)?}}.s32
  gpu.func @si8_transposed(%pa: memref<64x40xi8>, %pb: memref<64x48xi8>, %pc: memref<64x56xi32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index, transpose} : memref<64x40xi8> -> !gpu.mma_matrix<32x16xsi8, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index, transpose} : memref<64x48xi8> -> !gpu.mma_matrix<16x8xsi8, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index, transpose} : memref<64x56xi32> -> !gpu.mma_matrix<32x8xi32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c {a_transpose, b_transpose} : !gpu.mma_matrix<32x16xsi8, "AOp">, !gpu.mma_matrix<16x8xsi8, "BOp"> -> !gpu.mma_matrix<32x8xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index, transpose} : !gpu.mma_matrix<32x8xi32, "COp">, memref<64x56xi32>
    gpu.return
  }
  // CHECK-LABEL: .entry tf32_transposed(
  // CHECK-DAG: wmma.load.a.sync.aligned.col.m16n16k8{{(.global)?}}.tf32 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.col.m16n16k8{{(.global)?}}.tf32 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.col.m16n16k16{{(.global)?}}.f32 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.col.col.m16n16k8.f32.tf32.tf32.f32
  // CHECK: wmma.store.d.sync.aligned.col.m16n16k16{{(.global)?}}.f32
  gpu.func @tf32_transposed(%pa: memref<64x40xf32>, %pb: memref<64x48xf32>, %pc: memref<64x56xf32>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index, transpose} : memref<64x40xf32> -> !gpu.mma_matrix<16x8xf32, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index, transpose} : memref<64x48xf32> -> !gpu.mma_matrix<8x16xf32, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index, transpose} : memref<64x56xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c {a_transpose, b_transpose} : !gpu.mma_matrix<16x8xf32, "AOp">, !gpu.mma_matrix<8x16xf32, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index, transpose} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x56xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry f64_transposed(
  // CHECK-DAG: wmma.load.a.sync.aligned.col.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK-DAG: wmma.load.b.sync.aligned.col.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK-DAG: wmma.load.c.sync.aligned.col.m8n8k4{{(.global)?}}.f64 {{.*}}, %r
  // CHECK: wmma.mma.sync.aligned.col.col.m8n8k4{{(.rn)?}}.f64.f64.f64.f64
  // CHECK: wmma.store.d.sync.aligned.col.m8n8k4{{(.global)?}}.f64
  gpu.func @f64_transposed(%pa: memref<64x40xf64>, %pb: memref<64x48xf64>, %pc: memref<64x56xf64>) kernel {
    %i = arith.constant 0 : index
    %a = gpu.subgroup_mma_load_matrix %pa[%i, %i] {leadDimension = 40 : index, transpose} : memref<64x40xf64> -> !gpu.mma_matrix<8x4xf64, "AOp">
    %b = gpu.subgroup_mma_load_matrix %pb[%i, %i] {leadDimension = 48 : index, transpose} : memref<64x48xf64> -> !gpu.mma_matrix<4x8xf64, "BOp">
    %c = gpu.subgroup_mma_load_matrix %pc[%i, %i] {leadDimension = 56 : index, transpose} : memref<64x56xf64> -> !gpu.mma_matrix<8x8xf64, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c {a_transpose, b_transpose} : !gpu.mma_matrix<8x4xf64, "AOp">, !gpu.mma_matrix<4x8xf64, "BOp"> -> !gpu.mma_matrix<8x8xf64, "COp">
    gpu.subgroup_mma_store_matrix %d, %pc[%i, %i] {leadDimension = 56 : index, transpose} : !gpu.mma_matrix<8x8xf64, "COp">, memref<64x56xf64>
    gpu.return
  }

  // Every elementwise operation of every accumulator.
  // CHECK-LABEL: .entry elementwise_f16(
  // CHECK-DAG: sub{{(.rn)?}}.f16x2
  // CHECK-DAG: mul{{(.rn)?}}.f16x2
  // CHECK-DAG: max.NaN.f16x2
  // CHECK-DAG: add{{(.rn)?}}.f16x2
  // CHECK-DAG: min.NaN.f16x2
  // CHECK-DAG: neg.f16x2
  // CHECK-DAG: div.rn.f32
  gpu.func @elementwise_f16(%p: memref<64x16xf16>, %q: memref<64x16xf16>) kernel {
    %i = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
    %y = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 16 : index} : memref<64x16xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
    %0 = gpu.subgroup_mma_elementwise negatef %x : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %1 = gpu.subgroup_mma_elementwise subf %0, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %2 = gpu.subgroup_mma_elementwise mulf %1, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %3 = gpu.subgroup_mma_elementwise maxf %2, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %4 = gpu.subgroup_mma_elementwise addf %3, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %5 = gpu.subgroup_mma_elementwise minf %4, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    %6 = gpu.subgroup_mma_elementwise divf %5, %y : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.subgroup_mma_store_matrix %6, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf16, "COp">, memref<64x16xf16>
    gpu.return
  }
  // CHECK-LABEL: .entry elementwise_f32(
  // CHECK-DAG: sub.rn.f32
  // CHECK-DAG: mul.rn.f32
  // CHECK-DAG: max.NaN.f32
  // CHECK-DAG: add.rn.f32
  // CHECK-DAG: min.NaN.f32
  // CHECK-DAG: neg.f32
  // CHECK-DAG: div.rn.f32
  gpu.func @elementwise_f32(%p: memref<64x16xf32>, %q: memref<64x16xf32>) kernel {
    %i = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %y = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 16 : index} : memref<64x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %0 = gpu.subgroup_mma_elementwise negatef %x : (!gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %1 = gpu.subgroup_mma_elementwise subf %0, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %2 = gpu.subgroup_mma_elementwise mulf %1, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %3 = gpu.subgroup_mma_elementwise maxf %2, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %4 = gpu.subgroup_mma_elementwise addf %3, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %5 = gpu.subgroup_mma_elementwise minf %4, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    %6 = gpu.subgroup_mma_elementwise divf %5, %y : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %6, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x16xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry elementwise_f64(
  // CHECK-DAG: sub.rn.f64
  // CHECK-DAG: mul.rn.f64
  // CHECK-DAG: add.rn.f64
  // CHECK-DAG: neg.f64
  // CHECK-DAG: div.rn.f64
  gpu.func @elementwise_f64(%p: memref<64x16xf64>, %q: memref<64x16xf64>) kernel {
    %i = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf64> -> !gpu.mma_matrix<8x8xf64, "COp">
    %y = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 16 : index} : memref<64x16xf64> -> !gpu.mma_matrix<8x8xf64, "COp">
    %0 = gpu.subgroup_mma_elementwise negatef %x : (!gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %1 = gpu.subgroup_mma_elementwise subf %0, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %2 = gpu.subgroup_mma_elementwise mulf %1, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %3 = gpu.subgroup_mma_elementwise maxf %2, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %4 = gpu.subgroup_mma_elementwise addf %3, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %5 = gpu.subgroup_mma_elementwise minf %4, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    %6 = gpu.subgroup_mma_elementwise divf %5, %y : (!gpu.mma_matrix<8x8xf64, "COp">, !gpu.mma_matrix<8x8xf64, "COp">) -> !gpu.mma_matrix<8x8xf64, "COp">
    gpu.subgroup_mma_store_matrix %6, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<8x8xf64, "COp">, memref<64x16xf64>
    gpu.return
  }
  // CHECK-LABEL: .entry elementwise_i32(
  // CHECK-DAG: {{sub|neg}}.s32
  // CHECK-DAG: mul.lo.s32
  // CHECK-DAG: div.s32
  // CHECK-DAG: add.s32
  // CHECK-DAG: div.u32
  gpu.func @elementwise_i32(%p: memref<64x16xi32>, %q: memref<64x16xi32>) kernel {
    %i = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xi32> -> !gpu.mma_matrix<16x16xi32, "COp">
    %y = gpu.subgroup_mma_load_matrix %q[%i, %i] {leadDimension = 16 : index} : memref<64x16xi32> -> !gpu.mma_matrix<16x16xi32, "COp">
    %0 = gpu.subgroup_mma_elementwise negates %x : (!gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    %1 = gpu.subgroup_mma_elementwise subi %0, %y : (!gpu.mma_matrix<16x16xi32, "COp">, !gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    %2 = gpu.subgroup_mma_elementwise muli %1, %y : (!gpu.mma_matrix<16x16xi32, "COp">, !gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    %3 = gpu.subgroup_mma_elementwise divs %2, %y : (!gpu.mma_matrix<16x16xi32, "COp">, !gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    %4 = gpu.subgroup_mma_elementwise addi %3, %y : (!gpu.mma_matrix<16x16xi32, "COp">, !gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    %5 = gpu.subgroup_mma_elementwise divu %4, %y : (!gpu.mma_matrix<16x16xi32, "COp">, !gpu.mma_matrix<16x16xi32, "COp">) -> !gpu.mma_matrix<16x16xi32, "COp">
    gpu.subgroup_mma_store_matrix %5, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xi32, "COp">, memref<64x16xi32>
    gpu.return
  }

  // Multiplicands: tf32 lies in 32-bit registers, 8-bit integers lie four to a register.
  // CHECK-LABEL: .entry multiplicands_tf32(
  // CHECK-COUNT-5: mul.rn.f32
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32
  gpu.func @multiplicands_tf32(%p: memref<64x16xf32>, %x: f32) kernel {
    %i = arith.constant 0 : index
    %two = arith.constant 2.0 : f32
    %twos = gpu.subgroup_mma_constant_matrix %two : !gpu.mma_matrix<8x16xf32, "BOp">
    %b = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf32> -> !gpu.mma_matrix<8x16xf32, "BOp">
    %c = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %ones = gpu.subgroup_mma_constant_matrix %x : !gpu.mma_matrix<16x8xf32, "AOp">
    %a = gpu.subgroup_mma_elementwise mulf %ones, %ones : (!gpu.mma_matrix<16x8xf32, "AOp">, !gpu.mma_matrix<16x8xf32, "AOp">) -> !gpu.mma_matrix<16x8xf32, "AOp">
    %doubled = gpu.subgroup_mma_elementwise mulf %b, %b : (!gpu.mma_matrix<8x16xf32, "BOp">, !gpu.mma_matrix<8x16xf32, "BOp">) -> !gpu.mma_matrix<8x16xf32, "BOp">
    %sum = gpu.subgroup_mma_elementwise addf %doubled, %twos : (!gpu.mma_matrix<8x16xf32, "BOp">, !gpu.mma_matrix<8x16xf32, "BOp">) -> !gpu.mma_matrix<8x16xf32, "BOp">
    %d = gpu.subgroup_mma_compute %a, %sum, %c : !gpu.mma_matrix<16x8xf32, "AOp">, !gpu.mma_matrix<8x16xf32, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x16xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry multiplicands_si8(
  // CHECK: wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.s8.s32
  gpu.func @multiplicands_si8(%p: memref<64x16xi8>, %q: memref<64x16xi32>, %x: si8) kernel {
    %i = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %b = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xi8> -> !gpu.mma_matrix<16x16xsi8, "BOp">
    %a = gpu.subgroup_mma_constant_matrix %x : !gpu.mma_matrix<16x16xsi8, "AOp">
    %less = gpu.subgroup_mma_elementwise subi %a, %a : (!gpu.mma_matrix<16x16xsi8, "AOp">, !gpu.mma_matrix<16x16xsi8, "AOp">) -> !gpu.mma_matrix<16x16xsi8, "AOp">
    %c = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xi32, "COp">
    %d = gpu.subgroup_mma_compute %less, %b, %c : !gpu.mma_matrix<16x16xsi8, "AOp">, !gpu.mma_matrix<16x16xsi8, "BOp"> -> !gpu.mma_matrix<16x16xi32, "COp">
    gpu.subgroup_mma_store_matrix %d, %q[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xi32, "COp">, memref<64x16xi32>
    gpu.return
  }

  // CHECK-LABEL: .entry extend(
  // CHECK-COUNT-8: cvt.f32.f16
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.f32
  gpu.func @extend(%p: memref<64x16xf16>, %q: memref<64x16xf32>) kernel {
    %i = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
    %y = gpu.subgroup_mma_elementwise extf %x : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %y, %q[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<64x16xf32>
    gpu.return
  }

  // Single elements, the index known or not.
  // CHECK-LABEL: .entry elements(
  // CHECK: wmma.load.c.sync.aligned.row.m16n16k16{{(.global)?}}.f16
  // CHECK: wmma.store.d.sync.aligned.row.m16n16k16{{(.global)?}}.f16
  gpu.func @elements(%p: memref<64x16xf16>, %at: index) kernel {
    %i = arith.constant 0 : index
    %three = arith.constant 3 : index
    %m = gpu.subgroup_mma_load_matrix %p[%i, %i] {leadDimension = 16 : index} : memref<64x16xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
    %x = gpu.subgroup_mma_extract_thread_local %m[%at] : !gpu.mma_matrix<16x16xf16, "COp"> -> f16
    %y = gpu.subgroup_mma_extract_thread_local %m[%three] : !gpu.mma_matrix<16x16xf16, "COp"> -> f16
    %n = gpu.subgroup_mma_insert_thread_local %x, %m[%three] : f16, !gpu.mma_matrix<16x16xf16, "COp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    %o = gpu.subgroup_mma_insert_thread_local %y, %n[%at] : f16, !gpu.mma_matrix<16x16xf16, "COp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.subgroup_mma_store_matrix %o, %p[%i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf16, "COp">, memref<64x16xf16>
    gpu.return
  }

  // Any memory, any address: shared memory, an offset, dynamic extents.
  // CHECK-LABEL: .entry places(
  // CHECK: wmma.load.a.sync.aligned.row.m16n16k16.shared.f16
  gpu.func @places(%p: memref<4x16x16xf32>, %q: memref<?x?xf16, strided<[128, 1], offset: ?>>, %at: index) kernel {
    %i = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<16x24xf16, #gpu.address_space<workgroup>>
    %a = gpu.subgroup_mma_load_matrix %tile[%i, %at] {leadDimension = 24 : index} : memref<16x24xf16, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %b = gpu.subgroup_mma_load_matrix %q[%at, %at] {leadDimension = 128 : index} : memref<?x?xf16, strided<[128, 1], offset: ?>> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %c = gpu.subgroup_mma_load_matrix %p[%at, %i, %i] {leadDimension = 16 : index} : memref<4x16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    %d = gpu.subgroup_mma_compute %a, %b, %c : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %p[%at, %i, %i] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<4x16x16xf32>
    gpu.return
  }
  memref.global "private" @tile : memref<16x24xf16, #gpu.address_space<workgroup>>
}

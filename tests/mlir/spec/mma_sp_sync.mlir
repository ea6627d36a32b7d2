// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// nvgpu.mma.sp.sync. The specification's example gives B the size of a product half as deep; this is its legal form, and
// mma_sp_sync_invalid.mlir has the example itself.

gpu.module @products {
  // TEXT-LABEL: gpu.func @example
  // PTX-LABEL: .entry example(
  gpu.func @example(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf16>, %meta: vector<2xi16>,
                    %d: memref<2x2xf16>) kernel {
    %i = arith.constant 0 : index
    // PTX: mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}, %r{{[0-9]+}}, 0x0;
    // TEXT: nvgpu.mma.sp.sync(%{{.*}}, %{{.*}}, %{{.*}}) metadata(%{{.*}}) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    %r = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 32]} :
      (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    vector.transfer_write %r, %d[%i, %i] : vector<2x2xf16>, memref<2x2xf16>
    gpu.return
  }

  // TEXT-LABEL: gpu.func @attributes
  // PTX-LABEL: .entry attributes(
  gpu.func @attributes(%a: vector<4x1xf32>, %b: vector<4x1xf32>, %c: vector<2x2xf32>, %meta: vector<2xi16>,
                       %d: memref<2x2xf32>) kernel {
    %i = arith.constant 0 : index
    // PTX: mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {{.*}}, 0x1;
    // TEXT: nvgpu.mma.sp.sync(%{{.*}}, %{{.*}}, %{{.*}}) metadata(%{{.*}}) {mmaShape = [16, 8, 16], sparsitySelector = 1 : i32, tf32Enabled} :
    %r = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 16], sparsitySelector = 1 : i32, tf32Enabled} :
      (vector<4x1xf32>, vector<4x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.transfer_write %r, %d[%i, %i] : vector<2x2xf32>, memref<2x2xf32>
    gpu.return
  }
}

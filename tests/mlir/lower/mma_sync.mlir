// nvgpu.mma.sync as PTX: the spec's example, and one product of each kind of type.
// RUN: lemma compile %s -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx
// RUN: %ptxas -arch=sm_90a %t.ptx

gpu.module @products {
  // CHECK-LABEL: .entry f16_f32(
  // CHECK: .loc 1 [[#@LINE+4]]
  // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
  gpu.func @f16_f32(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>, %d: memref<2x2xf32>) kernel {
    %i = arith.constant 0 : index
    %r = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} :
      (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.transfer_write %r, %d[%i, %i] : vector<2x2xf32>, memref<2x2xf32>
    gpu.return
  }
  // CHECK-LABEL: .entry u8(
  // CHECK: mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32
  gpu.func @u8(%a: vector<4x4xui8>, %b: vector<2x4xi8>, %c: vector<2x2xi32>, %d: memref<2x2xi32>) kernel {
    %i = arith.constant 0 : index
    %r = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 32], satfinite} :
      (vector<4x4xui8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.transfer_write %r, %d[%i, %i] : vector<2x2xi32>, memref<2x2xi32>
    gpu.return
  }
}

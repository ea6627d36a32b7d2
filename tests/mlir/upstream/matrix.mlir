// REQUIRES: mlir-opt
// RUN: %mlir-opt %s -o %t.pretty.mlir && %mlir-opt %s --mlir-print-op-generic -o %t.generic.mlir
// RUN: lemma-opt %t.pretty.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %t.generic.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %s --mlir-print-op-generic | %mlir-opt | diff %t.pretty.mlir -
// RUN: lemma compile %t.pretty.mlir -o %t.ptx && lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: lemma compile %t.generic.mlir | grep -v "\.file\|\.loc" > %t.generic.ptx
// RUN: grep -v "\.file\|\.loc" %t.ptx | diff - %t.generic.ptx
//
// nvgpu.ldmatrix, mma.sync, mma.sp.sync and rcp as LLVM 22's mlir-opt prints them, pretty and generic: we read both and
// print the same, and both become the same PTX.

gpu.module @kernels {
  // CHECK-LABEL: .entry loads(
  gpu.func @loads(%sm: memref<32x8xf16, 3>, %bytes: memref<32x16xi8, #gpu.address_space<workgroup>>, %out: memref<3x4xf16>,
                  %outI8: memref<4x4xi8>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
    %0 = nvgpu.ldmatrix %sm[%c0, %c0] {numTiles = 4 : i32, transpose = false} : memref<32x8xf16, 3> -> vector<4x2xf16>
    // CHECK: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
    %1 = nvgpu.ldmatrix %sm[%c0, %c0] {numTiles = 2 : i32, transpose = true} : memref<32x8xf16, 3> -> vector<2x2xf16>
    // CHECK: ldmatrix.sync.aligned.m8n8.x1.shared.b16
    %2 = nvgpu.ldmatrix %sm[%c0, %c0] {numTiles = 1 : i32, transpose = false} : memref<32x8xf16, 3> -> vector<1x2xf16>
    // CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
    %3 = nvgpu.ldmatrix %bytes[%c0, %c0] {numTiles = 4 : i32, transpose = false}
      : memref<32x16xi8, #gpu.address_space<workgroup>> -> vector<4x4xi8>
    %row0 = vector.extract %0[3] : vector<2xf16> from vector<4x2xf16>
    %row1 = vector.extract %1[1] : vector<2xf16> from vector<2x2xf16>
    %row2 = vector.extract %2[0] : vector<2xf16> from vector<1x2xf16>
    vector.store %row0, %out[%c0, %c0] : memref<3x4xf16>, vector<2xf16>
    vector.store %row1, %out[%c1, %c0] : memref<3x4xf16>, vector<2xf16>
    vector.store %row2, %out[%c2, %c0] : memref<3x4xf16>, vector<2xf16>
    vector.transfer_write %3, %outI8[%c0, %c0] : vector<4x4xi8>, memref<4x4xi8>
    gpu.return
  }

  // CHECK-LABEL: .entry products(
  gpu.func @products(%af16: vector<4x2xf16>, %bf16: vector<2x2xf16>, %cf16: vector<2x2xf16>, %cf32: vector<2x2xf32>,
                     %af32: vector<4x1xf32>, %bf32: vector<2x1xf32>, %af64: vector<1x1xf64>, %cf64: vector<1x2xf64>,
                     %ai8: vector<4x4xi8>, %bi8: vector<2x4xi8>, %ci32: vector<2x2xi32>, %ai4: vector<4x8xi4>,
                     %bi4: vector<2x8xi4>, %of16: memref<2x2xf16>, %of32: memref<2x2xf32>, %of64: memref<1x2xf64>,
                     %oi32: memref<2x2xi32>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
    %0 = nvgpu.mma.sync (%af16, %bf16, %cf16) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    %1 = nvgpu.mma.sync (%af16, %bf16, %cf32) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    // CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
    %2 = nvgpu.mma.sync (%af32, %bf32, %1) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    // CHECK: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
    %3 = nvgpu.mma.sync (%af64, %af64, %cf64) {mmaShape = [8, 8, 4]} : (vector<1x1xf64>, vector<1x1xf64>, vector<1x2xf64>) -> vector<1x2xf64>
    // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
    %4 = nvgpu.mma.sync (%ai8, %bi8, %ci32) {mmaShape = [16, 8, 32]} : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    // CHECK: mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32
    %5 = nvgpu.mma.sync (%ai4, %bi4, %4) {mmaShape = [16, 8, 64]} : (vector<4x8xi4>, vector<2x8xi4>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.transfer_write %0, %of16[%c0, %c0] : vector<2x2xf16>, memref<2x2xf16>
    vector.transfer_write %2, %of32[%c0, %c0] : vector<2x2xf32>, memref<2x2xf32>
    vector.transfer_write %3, %of64[%c0, %c0] : vector<1x2xf64>, memref<1x2xf64>
    vector.transfer_write %5, %oi32[%c0, %c0] : vector<2x2xi32>, memref<2x2xi32>
    gpu.return
  }

  // CHECK-LABEL: .entry sparse_products(
  gpu.func @sparse_products(%af16: vector<4x2xf16>, %bf16: vector<4x2xf16>, %cf16: vector<2x2xf16>, %af32: vector<4x1xf32>,
                            %cf32: vector<2x2xf32>, %ai8: vector<4x4xi8>, %ci32: vector<2x2xi32>, %meta: vector<2xi16>,
                            %of16: memref<2x2xf16>, %of32: memref<2x2xf32>, %oi32: memref<2x2xi32>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {{.*}}, 0x0;
    %0 = nvgpu.mma.sp.sync (%af16, %bf16, %cf16) metadata (%meta) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    // CHECK: mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {{.*}}, 0x1;
    %1 = nvgpu.mma.sp.sync (%af32, %af32, %cf32) metadata (%meta) {mmaShape = [16, 8, 16], sparsitySelector = 1 : i32, tf32Enabled} : (vector<4x1xf32>, vector<4x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    // CHECK: mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {{.*}}, 0x0;
    %2 = nvgpu.mma.sp.sync (%ai8, %ai8, %ci32) metadata (%meta) {mmaShape = [16, 8, 64]} : (vector<4x4xi8>, vector<4x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.transfer_write %0, %of16[%c0, %c0] : vector<2x2xf16>, memref<2x2xf16>
    vector.transfer_write %1, %of32[%c0, %c0] : vector<2x2xf32>, memref<2x2xf32>
    vector.transfer_write %2, %oi32[%c0, %c0] : vector<2x2xi32>, memref<2x2xi32>
    gpu.return
  }

  // CHECK-LABEL: .entry reciprocals(
  gpu.func @reciprocals(%x: vector<4xf32>, %out: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK-COUNT-4: rcp.approx.ftz.f32
    %0 = nvgpu.rcp %x {rounding = approx, ftz} : vector<4xf32>
    vector.store %0, %out[%c0] : memref<4xf32>, vector<4xf32>
    gpu.return
  }
}

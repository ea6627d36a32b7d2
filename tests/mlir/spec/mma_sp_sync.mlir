// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry chosen --grid 1 --block 32 | FileCheck %s --check-prefix=CHOSEN
//
// nvgpu.mma.sp.sync. The specification's example gives B the size of a product half as deep; this is its legal form, and
// mma_sp_sync_invalid.mlir has the example itself.
// Sections of the description of 2023: "nvgpu.mma.sp.sync".

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

  // A is 1 where it is not 0: of four k each, the first two. There B has the number of its column, then 0.5; at the other
  // two, 1000. Lane 5 has row 1 and 9, columns 2 and 3 of D.
  gpu.func @chosen() kernel {
    %lane = gpu.lane_id
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %column = arith.divui %lane, %c4 : index
    %word = arith.index_cast %column : index to i32
    %number = arith.uitofp %word : i32 to f16
    %half = arith.constant 0.5 : f16
    %far = arith.constant 1000.0 : f16
    %side = arith.remui %lane, %c2 : index
    %is_far = arith.index_cast %side : index to i1
    %even = arith.select %is_far, %far, %number : f16
    %odd = arith.select %is_far, %far, %half : f16
    %a = arith.constant dense<1.0> : vector<4x2xf16>
    %b = vector.from_elements %even, %odd, %even, %odd, %even, %odd, %even, %odd : vector<4x2xf16>
    %c = arith.constant dense<0.25> : vector<2x2xf16>
    %meta = arith.constant dense<0x4444> : vector<2xi16>
    %r = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 32]} :
      (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    %is_5 = arith.cmpi eq, %lane, %c5 : index
    scf.if %is_5 {
      %wide = arith.extf %r : vector<2x2xf16> to vector<2x2xf32>
      %0 = vector.extract %wide[0, 0] : f32 from vector<2x2xf32>
      %1 = vector.extract %wide[0, 1] : f32 from vector<2x2xf32>
      %2 = vector.extract %wide[1, 0] : f32 from vector<2x2xf32>
      %3 = vector.extract %wide[1, 1] : f32 from vector<2x2xf32>
      // CHOSEN: 20.25 28.25 20.25 28.25
      gpu.printf "%g %g %g %g\n", %0, %1, %2, %3 : f32, f32, f32, f32
    }
    gpu.return
  }
}

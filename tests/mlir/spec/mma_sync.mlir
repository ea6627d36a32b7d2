// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry f16 --grid 1 --block 32 | FileCheck %s --check-prefix=F16
// RUN: lemma run %s --entry tf32 --grid 1 --block 32 | FileCheck %s --check-prefix=TF32
//
// The specification's example of nvgpu.mma.sync, and tf32Enabled. A is the number of the row, B that of the column: a
// sum over 16 (8) products. Lane 5 has rows 1 and 9, columns 2 and 3 of D.
// Sections of the description of 2023: "nvgpu.mma.sync".

gpu.module @products {
  // TEXT-LABEL: gpu.func @f16
  // PTX-LABEL: .entry f16(
  gpu.func @f16() kernel {
    %lane = gpu.lane_id
    %c4 = arith.constant 4 : index
    %row = arith.divui %lane, %c4 : index
    %word = arith.index_cast %row : index to i32
    %upper = arith.uitofp %word : i32 to f16
    %eight = arith.constant 8.0 : f16
    %lower = arith.addf %upper, %eight : f16
    %matrixA = vector.from_elements %upper, %upper, %lower, %lower, %upper, %upper, %lower, %lower : vector<4x2xf16>
    // B's columns lie as A's rows do.
    %matrixB = vector.broadcast %upper : f16 to vector<2x2xf16>
    %matrixC = arith.constant dense<0.5> : vector<2x2xf32>
    // PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}};
    // TEXT: nvgpu.mma.sync(%{{.*}}, %{{.*}}, %{{.*}}) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>

%res = nvgpu.mma.sync (%matrixA, %matrixB, %matrixC) {mmaShape = [16, 8, 16]} :
    (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>

    // F16: 32.5 48.5 288.5 432.5
    func.call @show(%res) : (vector<2x2xf32>) -> ()
    gpu.return
  }

  // f32 that tensor cores round to tf32: 2^-12 is gone.
  // TEXT-LABEL: gpu.func @tf32
  // PTX-LABEL: .entry tf32(
  gpu.func @tf32() kernel {
    %a = arith.constant dense<1.000244140625> : vector<4x1xf32>
    %b = arith.constant dense<2.0> : vector<2x1xf32>
    %c = arith.constant dense<0.0> : vector<2x2xf32>
    // PTX: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
    // TEXT: nvgpu.mma.sync(%{{.*}}, %{{.*}}, %{{.*}}) {mmaShape = [16, 8, 8], tf32Enabled} :
    %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 8], tf32Enabled} :
      (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    // TF32: 16 16 16 16
    func.call @show(%d) : (vector<2x2xf32>) -> ()
    gpu.return
  }

  func.func @show(%d: vector<2x2xf32>) {
    %lane = gpu.lane_id
    %c5 = arith.constant 5 : index
    %is_5 = arith.cmpi eq, %lane, %c5 : index
    scf.if %is_5 {
      %0 = vector.extract %d[0, 0] : f32 from vector<2x2xf32>
      %1 = vector.extract %d[0, 1] : f32 from vector<2x2xf32>
      %2 = vector.extract %d[1, 0] : f32 from vector<2x2xf32>
      %3 = vector.extract %d[1, 1] : f32 from vector<2x2xf32>
      gpu.printf "%g %g %g %g\n", %0, %1, %2, %3 : f32, f32, f32, f32
    }
    return
  }
}

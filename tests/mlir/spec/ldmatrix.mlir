// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry example --grid 1 --block 32 | FileCheck %s --check-prefix=EXAMPLE
// RUN: lemma run %s --entry transposed --grid 1 --block 32 | FileCheck %s --check-prefix=TRANSPOSED
//
// The specification's example of nvgpu.ldmatrix: an 8x8 matrix four times over, with 8 r + c in row r, column c. Lane l
// has columns 2 (l % 4) and the next of row l / 4; transposed, those rows of column l / 4.
// Sections of the description of 2023: "nvgpu.ldmatrix".

gpu.module @kernels {
  // Writes the matrix into every one of the tiles, and says where this lane reads.
  func.func @fill(%sm: memref<?x?xf16, 3>) -> index {
    %lane = gpu.lane_id
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %row = arith.remui %lane, %c8 : index
    scf.for %column = %c0 to %c8 step %c1 {
      %line = arith.muli %row, %c8 : index
      %number = arith.addi %line, %column : index
      %word = arith.index_cast %number : index to i32
      %value = arith.uitofp %word : i32 to f16
      memref.store %value, %sm[%lane, %column] : memref<?x?xf16, 3>
    }
    gpu.barrier
    return %lane : index
  }

  func.func @show(%tiles: vector<4x2xf16>) {
    %lane = gpu.lane_id
    %c5 = arith.constant 5 : index
    %is_5 = arith.cmpi eq, %lane, %c5 : index
    scf.if %is_5 {
      %wide = arith.extf %tiles : vector<4x2xf16> to vector<4x2xf32>
      %0 = vector.extract %wide[0, 0] : f32 from vector<4x2xf32>
      %1 = vector.extract %wide[0, 1] : f32 from vector<4x2xf32>
      %2 = vector.extract %wide[3, 0] : f32 from vector<4x2xf32>
      %3 = vector.extract %wide[3, 1] : f32 from vector<4x2xf32>
      gpu.printf "%g %g %g %g\n", %0, %1, %2, %3 : f32, f32, f32, f32
    }
    return
  }

  // Every lane names row 0, so that every row of the four matrices is that one.
  // TEXT-LABEL: gpu.func @example
  // PTX-LABEL: .entry example(
  gpu.func @example() workgroup(%tile: memref<32x8xf16, 3>) kernel {
    %sm = memref.cast %tile : memref<32x8xf16, 3> to memref<?x?xf16, 3>
    func.call @fill(%sm) : (memref<?x?xf16, 3>) -> index
    %c0 = arith.constant 0 : index
    // PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, [%r{{[0-9]+}}];
    // TEXT: nvgpu.ldmatrix %{{.*}}[%{{.*}}, %{{.*}}] {numTiles = 4 : i32, transpose = false} : memref<?x?xf16, 3> -> vector<4x2xf16>

%0 = nvgpu.ldmatrix %sm[%c0, %c0] {numTiles = 4 : i32, transpose = false} :
  memref<?x?xf16, 3> -> vector<4x2xf16>

    // EXAMPLE: 2 3 2 3
    func.call @show(%0) : (vector<4x2xf16>) -> ()
    gpu.return
  }

  // TEXT-LABEL: gpu.func @transposed
  // PTX-LABEL: .entry transposed(
  gpu.func @transposed() workgroup(%tile: memref<32x8xf16, 3>) kernel {
    %sm = memref.cast %tile : memref<32x8xf16, 3> to memref<?x?xf16, 3>
    %lane = func.call @fill(%sm) : (memref<?x?xf16, 3>) -> index
    %c0 = arith.constant 0 : index
    // PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
    // TEXT: nvgpu.ldmatrix %{{.*}}[%{{.*}}, %{{.*}}] {numTiles = 4 : i32, transpose = true} : memref<?x?xf16, 3> -> vector<4x2xf16>
    %0 = nvgpu.ldmatrix %sm[%lane, %c0] {numTiles = 4 : i32, transpose = true} :
      memref<?x?xf16, 3> -> vector<4x2xf16>
    // TRANSPOSED: 17 25 17 25
    func.call @show(%0) : (vector<4x2xf16>) -> ()
    gpu.return
  }
}

// C = A * B with mma.sync: A 64x64 and B 64x32 are f16, C is f32. CTAs of four warps; each CTA copies its 32x64 of A
// and 64x16 of B into shared memory, each warp multiplies one 16x8 of C out of ldmatrix fragments.
//
// The entries are whole numbers so small that every sum is exact in f32: the order of additions cannot matter, and the
// host's plain triple loop owes the same bits.
//
// Not here: asynchronous copies (async_copy_pipeline), f16 accumulators.
// Spec: nvgpu.ldmatrix, nvgpu.mma.sync; PTX ISA, ldmatrix and mma.m16n8k16.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 2048 of 2048
// CHECK-NEXT: Checksum: -71

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Rows are padded by 16 bytes, so that the eight rows of one 8x8 matrix lie in different banks.
    memref.global "private" @tile_a : memref<32x72xf16, #gpu.address_space<workgroup>> {alignment = 16 : i64}
    memref.global "private" @tile_b : memref<64x24xf16, #gpu.address_space<workgroup>> {alignment = 16 : i64}

    gpu.func @matmul(%a: memref<64x64xf16>, %b: memref<64x32xf16>, %c: memref<64x32xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c1024 = arith.constant 1024 : index
      %c2048 = arith.constant 2048 : index
      %thread = gpu.thread_id x
      %lane = arith.remui %thread, %c32 : index
      %warp = arith.divui %thread, %c32 : index
      %block_n = gpu.block_id x
      %block_m = gpu.block_id y
      %first_row = arith.muli %block_m, %c32 : index
      %first_col = arith.muli %block_n, %c16 : index
      %sa = memref.get_global @tile_a : memref<32x72xf16, #gpu.address_space<workgroup>>
      %sb = memref.get_global @tile_b : memref<64x24xf16, #gpu.address_space<workgroup>>

      scf.for %i = %thread to %c2048 step %c128 {
        %row = arith.divui %i, %c64 : index
        %col = arith.remui %i, %c64 : index
        %from = arith.addi %first_row, %row : index
        %value = memref.load %a[%from, %col] : memref<64x64xf16>
        memref.store %value, %sa[%row, %col] : memref<32x72xf16, #gpu.address_space<workgroup>>
      }
      scf.for %i = %thread to %c1024 step %c128 {
        %row = arith.divui %i, %c16 : index
        %col = arith.remui %i, %c16 : index
        %from = arith.addi %first_col, %col : index
        %value = memref.load %b[%row, %from] : memref<64x32xf16>
        memref.store %value, %sb[%row, %col] : memref<64x24xf16, #gpu.address_space<workgroup>>
      }
      gpu.barrier

      // Warps lie 2 x 2 on the CTA's 32x16 of C.
      %warp_m = arith.divui %warp, %c2 : index
      %warp_n = arith.remui %warp, %c2 : index
      %warp_row = arith.muli %warp_m, %c16 : index
      %warp_col = arith.muli %warp_n, %c8 : index
      // Lane l hands ldmatrix the row l % 16, of the left or the right half of A's fragment.
      %lane_row = arith.remui %lane, %c16 : index
      %lane_half = arith.divui %lane, %c16 : index
      %lane_col = arith.muli %lane_half, %c8 : index
      %a_row = arith.addi %warp_row, %lane_row : index

      %zero = arith.constant dense<0.0> : vector<2x2xf32>
      %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> (vector<2x2xf32>) {
        %a_col = arith.addi %k, %lane_col : index
        %fa = nvgpu.ldmatrix %sa[%a_row, %a_col] {numTiles = 4 : i32, transpose = false}
          : memref<32x72xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
        %b_row = arith.addi %k, %lane_row : index
        %fb = nvgpu.ldmatrix %sb[%b_row, %warp_col] {numTiles = 2 : i32, transpose = true}
          : memref<64x24xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
        %next = nvgpu.mma.sync(%fa, %fb, %acc) {mmaShape = [16, 8, 16]}
          : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
        scf.yield %next : vector<2x2xf32>
      }

      // Lane l owns columns 2 (l % 4) and one more, in rows l / 4 and l / 4 + 8.
      %quad = arith.divui %lane, %c4 : index
      %in_quad = arith.remui %lane, %c4 : index
      %pair = arith.muli %in_quad, %c2 : index
      %row0 = arith.addi %first_row, %warp_row : index
      %row_lo = arith.addi %row0, %quad : index
      %row_hi = arith.addi %row_lo, %c8 : index
      %col0 = arith.addi %first_col, %warp_col : index
      %col_lo = arith.addi %col0, %pair : index
      %col_hi = arith.addi %col_lo, %c1 : index
      %v00 = vector.extract %sum[0, 0] : f32 from vector<2x2xf32>
      %v01 = vector.extract %sum[0, 1] : f32 from vector<2x2xf32>
      %v10 = vector.extract %sum[1, 0] : f32 from vector<2x2xf32>
      %v11 = vector.extract %sum[1, 1] : f32 from vector<2x2xf32>
      memref.store %v00, %c[%row_lo, %col_lo] : memref<64x32xf32>
      memref.store %v01, %c[%row_lo, %col_hi] : memref<64x32xf32>
      memref.store %v10, %c[%row_hi, %col_lo] : memref<64x32xf32>
      memref.store %v11, %c[%row_hi, %col_hi] : memref<64x32xf32>
      gpu.return
    }
  }

  // (7 i + 3 j) mod 11 - 5
  func.func private @entry_a(%i: index, %j: index) -> f16 {
    %c3 = arith.constant 3 : index
    %c7 = arith.constant 7 : index
    %c11 = arith.constant 11 : index
    %five = arith.constant 5.0 : f32
    %p = arith.muli %i, %c7 : index
    %q = arith.muli %j, %c3 : index
    %r = arith.addi %p, %q : index
    %s = arith.remui %r, %c11 : index
    %t = arith.index_cast %s : index to i32
    %u = arith.sitofp %t : i32 to f32
    %v = arith.subf %u, %five : f32
    %w = arith.truncf %v : f32 to f16
    return %w : f16
  }

  // (5 i + 2 j) mod 7 - 2
  func.func private @entry_b(%i: index, %j: index) -> f16 {
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %two = arith.constant 2.0 : f32
    %p = arith.muli %i, %c5 : index
    %q = arith.muli %j, %c2 : index
    %r = arith.addi %p, %q : index
    %s = arith.remui %r, %c7 : index
    %t = arith.index_cast %s : index to i32
    %u = arith.sitofp %t : i32 to f32
    %v = arith.subf %u, %two : f32
    %w = arith.truncf %v : f32 to f16
    return %w : f16
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %n1 = arith.constant 1 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 2048 : i64

    %a = memref.alloc() : memref<64x64xf16>
    %b = memref.alloc() : memref<64x32xf16>
    %c = memref.alloc() : memref<64x32xf32>
    scf.for %i = %c0 to %c64 step %c1 {
      scf.for %j = %c0 to %c64 step %c1 {
        %value = func.call @entry_a(%i, %j) : (index, index) -> f16
        memref.store %value, %a[%i, %j] : memref<64x64xf16>
      }
      scf.for %j = %c0 to %c32 step %c1 {
        %value = func.call @entry_b(%i, %j) : (index, index) -> f16
        memref.store %value, %b[%i, %j] : memref<64x32xf16>
      }
    }

    %ready = gpu.wait async
    %da, %t0 = gpu.alloc async [%ready] () : memref<64x64xf16>
    %db, %t1 = gpu.alloc async [%t0] () : memref<64x32xf16>
    %dc, %t2 = gpu.alloc async [%t1] () : memref<64x32xf32>
    %t3 = gpu.memcpy async [%t2] %da, %a : memref<64x64xf16>, memref<64x64xf16>
    %t4 = gpu.memcpy async [%t3] %db, %b : memref<64x32xf16>, memref<64x32xf16>
    %t5 = gpu.launch_func async [%t4] @kernels::@matmul blocks in (%c2, %c2, %c1) threads in (%c128, %c1, %c1)
      args(%da : memref<64x64xf16>, %db : memref<64x32xf16>, %dc : memref<64x32xf32>)
    %t6 = gpu.memcpy async [%t5] %c, %dc : memref<64x32xf32>, memref<64x32xf32>
    %t7 = gpu.dealloc async [%t6] %da : memref<64x64xf16>
    %t8 = gpu.dealloc async [%t7] %db : memref<64x32xf16>
    %t9 = gpu.dealloc async [%t8] %dc : memref<64x32xf32>
    gpu.wait [%t9]

    // The reference, and how many entries have its bits.
    %correct, %checksum = scf.for %i = %c0 to %c64 step %c1 iter_args(%n_row = %n0, %s_row = %f0) -> (i64, f32) {
      %n_next, %s_next = scf.for %j = %c0 to %c32 step %c1 iter_args(%n = %n_row, %s = %s_row) -> (i64, f32) {
        %want = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %f0) -> (f32) {
          %x16 = memref.load %a[%i, %k] : memref<64x64xf16>
          %y16 = memref.load %b[%k, %j] : memref<64x32xf16>
          %x = arith.extf %x16 : f16 to f32
          %y = arith.extf %y16 : f16 to f32
          %xy = arith.mulf %x, %y : f32
          %next = arith.addf %acc, %xy : f32
          scf.yield %next : f32
        }
        %got = memref.load %c[%i, %j] : memref<64x32xf32>
        %want_bits = arith.bitcast %want : f32 to i32
        %got_bits = arith.bitcast %got : f32 to i32
        %same = arith.cmpi eq, %want_bits, %got_bits : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        %s_new = arith.addf %s, %got : f32
        scf.yield %n_new, %s_new : i64, f32
      }
      scf.yield %n_next, %s_next : i64, f32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Checksum: "
    vector.print %checksum : f32

    memref.dealloc %a : memref<64x64xf16>
    memref.dealloc %b : memref<64x32xf16>
    memref.dealloc %c : memref<64x32xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}

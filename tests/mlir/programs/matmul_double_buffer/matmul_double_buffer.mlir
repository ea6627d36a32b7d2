// C = A * B with mma.sync, ldmatrix and asynchronous copies, two buffers: A 64x128 and B 128x64 are f16, C is f32. CTAs of
// four warps, each CTA for 32x32 of C, each warp for 16x16. While the warps multiply a tile of K = 32, the next one comes
// into the other buffer: every thread copies 16 bytes of A's and 16 bytes of B's tile, one group a tile, and waits for
// all groups but the last. The copies past the last tile read nothing, so that every turn has a group.
//
// Two barriers a turn: everybody's part of the tile has come, and everybody is done with it.
//
// The entries are whole numbers so small that every sum is exact in f32: linalg.matmul on the host owes the same bits.
//
// Not here: more than two buffers (async_copy_pipeline).
// Spec: nvgpu.device_async_copy, nvgpu.ldmatrix, nvgpu.mma.sync; PTX ISA, cp.async, ldmatrix, mma.m16n8k16.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 4096 of 4096

// Rows are padded by 16 bytes, so that the eight rows of one 8x8 matrix lie in different banks.
!buffers = memref<2x32x40xf16, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tiles_a : !buffers {alignment = 16 : i64}
    memref.global "private" @tiles_b : !buffers {alignment = 16 : i64}

    gpu.func @matmul(%a: memref<64x128xf16>, %b: memref<128x64xf16>, %c: memref<64x64xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %size_k = arith.constant 128 : index
      %thread = gpu.thread_id x
      %lane = arith.remui %thread, %c32 : index
      %warp = arith.divui %thread, %c32 : index
      %block_n = gpu.block_id x
      %block_m = gpu.block_id y
      %first_row = arith.muli %block_m, %c32 : index
      %first_col = arith.muli %block_n, %c32 : index
      %sa = memref.get_global @tiles_a : !buffers
      %sb = memref.get_global @tiles_b : !buffers

      // Eight half-words for each thread to copy: a tile has four times that in a row.
      %copy_row = arith.divui %thread, %c4 : index
      %copy_part = arith.remui %thread, %c4 : index
      %copy_col = arith.muli %copy_part, %c8 : index
      %a_row = arith.addi %first_row, %copy_row : index
      %b_col = arith.addi %first_col, %copy_col : index
      %a0 = nvgpu.device_async_copy %a[%a_row, %copy_col], %sa[%c0, %copy_row, %copy_col], 8 {bypassL1}
        : memref<64x128xf16> to !buffers
      %b0 = nvgpu.device_async_copy %b[%copy_row, %b_col], %sb[%c0, %copy_row, %copy_col], 8 {bypassL1}
        : memref<128x64xf16> to !buffers
      %group0 = nvgpu.device_async_create_group %a0, %b0

      // Warps lie 2 x 2 on the CTA's 32x32 of C; lane l hands ldmatrix row l % 16 of the left or the right half.
      %warp_m = arith.divui %warp, %c2 : index
      %warp_n = arith.remui %warp, %c2 : index
      %warp_row = arith.muli %warp_m, %c16 : index
      %warp_col = arith.muli %warp_n, %c16 : index
      %lane_row = arith.remui %lane, %c16 : index
      %lane_half = arith.divui %lane, %c16 : index
      %lane_col = arith.muli %lane_half, %c8 : index
      %fa_row = arith.addi %warp_row, %lane_row : index
      %fb_col = arith.addi %warp_col, %lane_col : index

      %zero = arith.constant dense<0.0> : vector<2x2xf32>
      %left, %right = scf.for %k = %c0 to %size_k step %c32 iter_args(%acc_l = %zero, %acc_r = %zero)
          -> (vector<2x2xf32>, vector<2x2xf32>) {
        %turn = arith.divui %k, %c32 : index
        %now = arith.remui %turn, %c2 : index
        %then = arith.subi %c1, %now : index
        // The last turn has nothing to copy: no element of a place that is there.
        %next_k = arith.addi %k, %c32 : index
        %is_last = arith.cmpi uge, %next_k, %size_k : index
        %from_k = arith.select %is_last, %c0, %next_k : index
        %elements = arith.select %is_last, %c0, %c8 : index
        %a_col = arith.addi %from_k, %copy_col : index
        %b_row = arith.addi %from_k, %copy_row : index
        %ca = nvgpu.device_async_copy %a[%a_row, %a_col], %sa[%then, %copy_row, %copy_col], 8, %elements {bypassL1}
          : memref<64x128xf16> to !buffers
        %cb = nvgpu.device_async_copy %b[%b_row, %b_col], %sb[%then, %copy_row, %copy_col], 8, %elements {bypassL1}
          : memref<128x64xf16> to !buffers
        %group = nvgpu.device_async_create_group %ca, %cb
        nvgpu.device_async_wait %group {numGroups = 1 : i32}
        gpu.barrier

        %new_l, %new_r = scf.for %in = %c0 to %c32 step %c16 iter_args(%in_l = %acc_l, %in_r = %acc_r)
            -> (vector<2x2xf32>, vector<2x2xf32>) {
          %fa_col = arith.addi %in, %lane_col : index
          %fb_row = arith.addi %in, %lane_row : index
          %fa = nvgpu.ldmatrix %sa[%now, %fa_row, %fa_col] {numTiles = 4 : i32, transpose = false}
            : !buffers -> vector<4x2xf16>
          %fb = nvgpu.ldmatrix %sb[%now, %fb_row, %fb_col] {numTiles = 4 : i32, transpose = true}
            : !buffers -> vector<4x2xf16>
          %fb_l = vector.extract_strided_slice %fb {offsets = [0, 0], sizes = [2, 2], strides = [1, 1]}
            : vector<4x2xf16> to vector<2x2xf16>
          %fb_r = vector.extract_strided_slice %fb {offsets = [2, 0], sizes = [2, 2], strides = [1, 1]}
            : vector<4x2xf16> to vector<2x2xf16>
          %next_l = nvgpu.mma.sync(%fa, %fb_l, %in_l) {mmaShape = [16, 8, 16]}
            : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
          %next_r = nvgpu.mma.sync(%fa, %fb_r, %in_r) {mmaShape = [16, 8, 16]}
            : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
          scf.yield %next_l, %next_r : vector<2x2xf32>, vector<2x2xf32>
        }
        // The next turn's copies overwrite what this one has read.
        gpu.barrier
        scf.yield %new_l, %new_r : vector<2x2xf32>, vector<2x2xf32>
      }

      // Lane l owns columns 2 (l % 4) and one more, in rows l / 4 and l / 4 + 8.
      %quad = arith.divui %lane, %c4 : index
      %in_quad = arith.remui %lane, %c4 : index
      %pair = arith.muli %in_quad, %c2 : index
      %row0 = arith.addi %first_row, %warp_row : index
      %row_lo = arith.addi %row0, %quad : index
      %row_hi = arith.addi %row_lo, %c8 : index
      %col0 = arith.addi %first_col, %warp_col : index
      %col_l = arith.addi %col0, %pair : index
      %col_r = arith.addi %col_l, %c8 : index
      %l_lo = vector.extract %left[0] : vector<2xf32> from vector<2x2xf32>
      %l_hi = vector.extract %left[1] : vector<2xf32> from vector<2x2xf32>
      %r_lo = vector.extract %right[0] : vector<2xf32> from vector<2x2xf32>
      %r_hi = vector.extract %right[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %l_lo, %c[%row_lo, %col_l] : memref<64x64xf32>, vector<2xf32>
      vector.store %l_hi, %c[%row_hi, %col_l] : memref<64x64xf32>, vector<2xf32>
      vector.store %r_lo, %c[%row_lo, %col_r] : memref<64x64xf32>, vector<2xf32>
      vector.store %r_hi, %c[%row_hi, %col_r] : memref<64x64xf32>, vector<2xf32>
      gpu.return
    }
  }

  // (7 i + 3 j + 5 p) mod 11 - 5
  func.func private @entry(%i: index, %j: index, %p: index) -> f16 {
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c11 = arith.constant 11 : index
    %five = arith.constant 5 : i32
    %x = arith.muli %i, %c7 : index
    %y = arith.muli %j, %c3 : index
    %z = arith.muli %p, %c5 : index
    %xy = arith.addi %x, %y : index
    %xyz = arith.addi %xy, %z : index
    %r = arith.remui %xyz, %c11 : index
    %s = arith.index_cast %r : index to i32
    %t = arith.subi %s, %five : i32
    %v = arith.sitofp %t : i32 to f16
    return %v : f16
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 4096 : i64
    %a = memref.alloc() : memref<64x128xf16>
    %b = memref.alloc() : memref<128x64xf16>
    %c = memref.alloc() : memref<64x64xf32>
    scf.for %i = %c0 to %c64 step %c1 {
      scf.for %j = %c0 to %c128 step %c1 {
        %x = func.call @entry(%i, %j, %c1) : (index, index, index) -> f16
        %y = func.call @entry(%j, %i, %c2) : (index, index, index) -> f16
        memref.store %x, %a[%i, %j] : memref<64x128xf16>
        memref.store %y, %b[%j, %i] : memref<128x64xf16>
      }
    }

    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<64x128xf16>
    %db, %t2 = gpu.alloc async [%t1] () : memref<128x64xf16>
    %dc, %t3 = gpu.alloc async [%t2] () : memref<64x64xf32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<64x128xf16>, memref<64x128xf16>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<128x64xf16>, memref<128x64xf16>
    %t6 = gpu.launch_func async [%t5] @kernels::@matmul blocks in (%c2, %c2, %c1) threads in (%c128, %c1, %c1)
      args(%da : memref<64x128xf16>, %db : memref<128x64xf16>, %dc : memref<64x64xf32>)
    %t7 = gpu.memcpy async [%t6] %c, %dc : memref<64x64xf32>, memref<64x64xf32>
    %t8 = gpu.dealloc async [%t7] %da : memref<64x128xf16>
    %t9 = gpu.dealloc async [%t8] %db : memref<128x64xf16>
    %t10 = gpu.dealloc async [%t9] %dc : memref<64x64xf32>
    gpu.wait [%t10]

    %want = memref.alloc() : memref<64x64xf32>
    linalg.fill ins(%f0 : f32) outs(%want : memref<64x64xf32>)
    linalg.matmul ins(%a, %b : memref<64x128xf16>, memref<128x64xf16>) outs(%want : memref<64x64xf32>)
    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c64 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<64x64xf32>
        %y = memref.load %c[%i, %j] : memref<64x64xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    memref.dealloc %a : memref<64x128xf16>
    memref.dealloc %b : memref<128x64xf16>
    memref.dealloc %c : memref<64x64xf32>
    memref.dealloc %want : memref<64x64xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}

// C = A * B with mma.sp.sync: A 32x64 is f16 and has two entries other than zero in any four of a row, B 64x16 is f16,
// C is f32. What is handed over of A are those two of four (32x32) and, four bits for each four, which two they are. CTAs
// of one warp, each for 16x8 of C; fragments come straight out of global memory, B's from its transpose.
//
// The two of four are chosen so that all six choices come. The sparsity selector is 1: lanes 2 and 3 of each four have
// the metadata, and what lanes 0 and 1 have there is not looked at.
//
// The entries are whole numbers so small that every sum is exact in f32: linalg.matmul of the dense A owes the same bits.
//
// Not here: tf32 and 8-bit types, whose metadata lies otherwise.
// Spec: nvgpu.mma.sp.sync; PTX ISA, "Sparse matrix storage", fragments of mma.sp.m16n8k32.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 512 of 512

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // %which has a word for four times two entries: 32 rows, 4 words each for 16 columns of the dense A.
    gpu.func @matmul(%a: memref<32x32xf16>, %which: memref<32x4xi16>, %b_t: memref<16x64xf16>, %c: memref<32x16xf32>)
        kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %nothing = arith.constant dense<-1> : vector<2xi16>
      %zero = arith.constant dense<0.0> : vector<2x2xf32>
      %half = arith.constant 0.0 : f16
      %lane = gpu.thread_id x
      %block_n = gpu.block_id x
      %block_m = gpu.block_id y
      %row = arith.muli %block_m, %c16 : index
      %col = arith.muli %block_n, %c8 : index
      %group = arith.divui %lane, %c4 : index
      %in_group = arith.remui %lane, %c4 : index
      %pair = arith.muli %in_group, %c2 : index
      %row_lo = arith.addi %row, %group : index
      %row_hi = arith.addi %row_lo, %c8 : index
      %col_b = arith.addi %col, %group : index
      %has_metadata = arith.cmpi uge, %in_group, %c2 : index
      %word = arith.remui %in_group, %c2 : index

      %sum = scf.for %step = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (vector<2x2xf32>) {
        // 16 stored columns of A, 32 rows of B.
        %a_step = arith.muli %step, %c16 : index
        %a_lo = arith.addi %a_step, %pair : index
        %a_hi = arith.addi %a_lo, %c8 : index
        %a0 = vector.load %a[%row_lo, %a_lo] : memref<32x32xf16>, vector<2xf16>
        %a1 = vector.load %a[%row_hi, %a_lo] : memref<32x32xf16>, vector<2xf16>
        %a2 = vector.load %a[%row_lo, %a_hi] : memref<32x32xf16>, vector<2xf16>
        %a3 = vector.load %a[%row_hi, %a_hi] : memref<32x32xf16>, vector<2xf16>
        %fa_empty = vector.broadcast %half : f16 to vector<4x2xf16>
        %fa0 = vector.insert %a0, %fa_empty[0] : vector<2xf16> into vector<4x2xf16>
        %fa1 = vector.insert %a1, %fa0[1] : vector<2xf16> into vector<4x2xf16>
        %fa2 = vector.insert %a2, %fa1[2] : vector<2xf16> into vector<4x2xf16>
        %fa = vector.insert %a3, %fa2[3] : vector<2xf16> into vector<4x2xf16>

        %k = arith.muli %step, %c32 : index
        %k0 = arith.addi %k, %pair : index
        %k1 = arith.addi %k0, %c8 : index
        %k2 = arith.addi %k0, %c16 : index
        %k3 = arith.addi %k0, %c24 : index
        %b0 = vector.load %b_t[%col_b, %k0] : memref<16x64xf16>, vector<2xf16>
        %b1 = vector.load %b_t[%col_b, %k1] : memref<16x64xf16>, vector<2xf16>
        %b2 = vector.load %b_t[%col_b, %k2] : memref<16x64xf16>, vector<2xf16>
        %b3 = vector.load %b_t[%col_b, %k3] : memref<16x64xf16>, vector<2xf16>
        %fb0 = vector.insert %b0, %fa_empty[0] : vector<2xf16> into vector<4x2xf16>
        %fb1 = vector.insert %b1, %fb0[1] : vector<2xf16> into vector<4x2xf16>
        %fb2 = vector.insert %b2, %fb1[2] : vector<2xf16> into vector<4x2xf16>
        %fb = vector.insert %b3, %fb2[3] : vector<2xf16> into vector<4x2xf16>

        // A word of row group and one of row group + 8, of the first or the second half of this step.
        %word_step = arith.muli %step, %c2 : index
        %at = arith.addi %word_step, %word : index
        %which_lo = memref.load %which[%row_lo, %at] : memref<32x4xi16>
        %which_hi = memref.load %which[%row_hi, %at] : memref<32x4xi16>
        %both0 = vector.insert %which_lo, %nothing[0] : i16 into vector<2xi16>
        %both = vector.insert %which_hi, %both0[1] : i16 into vector<2xi16>
        %metadata = arith.select %has_metadata, %both, %nothing : vector<2xi16>

        %next = nvgpu.mma.sp.sync(%fa, %fb, %acc) metadata(%metadata)
          {mmaShape = [16, 8, 32], sparsitySelector = 1 : i32}
          : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
        scf.yield %next : vector<2x2xf32>
      }
      %col_c = arith.addi %col, %pair : index
      %lo = vector.extract %sum[0] : vector<2xf32> from vector<2x2xf32>
      %hi = vector.extract %sum[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %lo, %c[%row_lo, %col_c] : memref<32x16xf32>, vector<2xf32>
      vector.store %hi, %c[%row_hi, %col_c] : memref<32x16xf32>, vector<2xf32>
      gpu.return
    }
  }

  // The six ways to choose two of four, the first below the second.
  memref.global "private" constant @first : memref<6xindex> = dense<[0, 0, 0, 1, 1, 2]>
  memref.global "private" constant @second : memref<6xindex> = dense<[1, 2, 3, 2, 3, 3]>

  // (7 i + 3 j + 5 p) mod 13 - 6
  func.func private @entry(%i: index, %j: index, %p: index) -> f16 {
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c13 = arith.constant 13 : index
    %six = arith.constant 6 : i32
    %x = arith.muli %i, %c7 : index
    %y = arith.muli %j, %c3 : index
    %z = arith.muli %p, %c5 : index
    %xy = arith.addi %x, %y : index
    %xyz = arith.addi %xy, %z : index
    %r = arith.remui %xyz, %c13 : index
    %s = arith.index_cast %r : index to i32
    %t = arith.subi %s, %six : i32
    %v = arith.sitofp %t : i32 to f16
    return %v : f16
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %h0 = arith.constant 0.0 : f16
    %w0 = arith.constant 0 : i16
    %total = arith.constant 512 : i64
    %first = memref.get_global @first : memref<6xindex>
    %second = memref.get_global @second : memref<6xindex>

    %dense = memref.alloc() : memref<32x64xf16>
    %a = memref.alloc() : memref<32x32xf16>
    %which = memref.alloc() : memref<32x4xi16>
    %b = memref.alloc() : memref<64x16xf16>
    %b_t = memref.alloc() : memref<16x64xf16>
    %c = memref.alloc() : memref<32x16xf32>
    linalg.fill ins(%h0 : f16) outs(%dense : memref<32x64xf16>)
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %w = %c0 to %c4 step %c1 {
        %word = scf.for %q = %c0 to %c4 step %c1 iter_args(%bits = %w0) -> (i16) {
          // Columns 4 chunk to 4 chunk + 3 of the dense A, 2 chunk and 2 chunk + 1 of what is stored.
          %w4 = arith.muli %w, %c4 : index
          %chunk = arith.addi %w4, %q : index
          %chunk5 = arith.muli %chunk, %c5 : index
          %mixed = arith.addi %i, %chunk5 : index
          %choice = arith.remui %mixed, %c6 : index
          %p = memref.load %first[%choice] : memref<6xindex>
          %r = memref.load %second[%choice] : memref<6xindex>
          %from = arith.muli %chunk, %c4 : index
          %to = arith.muli %chunk, %c2 : index
          %from_p = arith.addi %from, %p : index
          %from_r = arith.addi %from, %r : index
          %to_r = arith.addi %to, %c1 : index
          %x = func.call @entry(%i, %from_p, %c1) : (index, index, index) -> f16
          %y = func.call @entry(%i, %from_r, %c1) : (index, index, index) -> f16
          memref.store %x, %dense[%i, %from_p] : memref<32x64xf16>
          memref.store %y, %dense[%i, %from_r] : memref<32x64xf16>
          memref.store %x, %a[%i, %to] : memref<32x32xf16>
          memref.store %y, %a[%i, %to_r] : memref<32x32xf16>
          %r4 = arith.muli %r, %c4 : index
          %code = arith.addi %p, %r4 : index
          %shift = arith.muli %q, %c4 : index
          %shifted = arith.shli %code, %shift : index
          %four_bits = arith.index_cast %shifted : index to i16
          %more = arith.ori %bits, %four_bits : i16
          scf.yield %more : i16
        }
        memref.store %word, %which[%i, %w] : memref<32x4xi16>
      }
    }
    scf.for %i = %c0 to %c64 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %x = func.call @entry(%i, %j, %c2) : (index, index, index) -> f16
        memref.store %x, %b[%i, %j] : memref<64x16xf16>
        memref.store %x, %b_t[%j, %i] : memref<16x64xf16>
      }
    }

    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<32x32xf16>
    %dwhich, %t2 = gpu.alloc async [%t1] () : memref<32x4xi16>
    %db_t, %t3 = gpu.alloc async [%t2] () : memref<16x64xf16>
    %dc, %t4 = gpu.alloc async [%t3] () : memref<32x16xf32>
    %t5 = gpu.memcpy async [%t4] %da, %a : memref<32x32xf16>, memref<32x32xf16>
    %t6 = gpu.memcpy async [%t5] %dwhich, %which : memref<32x4xi16>, memref<32x4xi16>
    %t7 = gpu.memcpy async [%t6] %db_t, %b_t : memref<16x64xf16>, memref<16x64xf16>
    %t8 = gpu.launch_func async [%t7] @kernels::@matmul blocks in (%c2, %c2, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<32x32xf16>, %dwhich : memref<32x4xi16>, %db_t : memref<16x64xf16>, %dc : memref<32x16xf32>)
    %t9 = gpu.memcpy async [%t8] %c, %dc : memref<32x16xf32>, memref<32x16xf32>
    %t10 = gpu.dealloc async [%t9] %da : memref<32x32xf16>
    %t11 = gpu.dealloc async [%t10] %dwhich : memref<32x4xi16>
    %t12 = gpu.dealloc async [%t11] %db_t : memref<16x64xf16>
    %t13 = gpu.dealloc async [%t12] %dc : memref<32x16xf32>
    gpu.wait [%t13]

    %want = memref.alloc() : memref<32x16xf32>
    linalg.fill ins(%f0 : f32) outs(%want : memref<32x16xf32>)
    linalg.matmul ins(%dense, %b : memref<32x64xf16>, memref<64x16xf16>) outs(%want : memref<32x16xf32>)
    %correct = scf.for %i = %c0 to %c32 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c16 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<32x16xf32>
        %y = memref.load %c[%i, %j] : memref<32x16xf32>
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

    memref.dealloc %dense : memref<32x64xf16>
    memref.dealloc %a : memref<32x32xf16>
    memref.dealloc %which : memref<32x4xi16>
    memref.dealloc %b : memref<64x16xf16>
    memref.dealloc %b_t : memref<16x64xf16>
    memref.dealloc %c : memref<32x16xf32>
    memref.dealloc %want : memref<32x16xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
